/-
Copyright (c) 2026 The LeanHammerExt authors. All rights reserved.
Released under Apache 2.0 license as described in the file LICENSE.
Authors: The LeanHammerExt authors
-/
import LeanHammerExt.ModuleTexts
import LeanHammerExtTest.Notation

/-!
# Texts kept between processes
-/

namespace LeanHammerExtTest.ModuleTextsTest

open Lean
open LeanHammerExt

/-- A module. -/
def entry : ModuleNames where
  moduleName := `Demo
  names := #[`Demo.x, `Demo.«a.b», `Demo.silent]

/-- What was printed of it: one premise could not be. -/
def premises : Array Premise := #[
  { name := `Demo.x, text := "theorem Demo.x : True", constants := #[``True], moduleName? := some `Demo },
  { name := `Demo.«a.b», text := "theorem Demo.«a.b» : False", constants := #[], moduleName? := some `Demo }
]

/-- The names and texts that come back. -/
def kept (key : String) (state : ModuleNames) (bytes : ByteArray) : String :=
  match readKeptModule key state bytes with
  | .error message => message
  | .ok found => toString (found.toList.map fun premise => s!"{premise.name}; {premise.text}; {premise.constants.toList}")

/-- What comes back of what was kept under `key`, for a module in the state `state`. -/
def roundTrip (key : String) (state : ModuleNames) : String :=
  match keptModule "now" 3 premises with
  | .error fault => toString fault
  | .ok bytes => kept key state bytes

#guard roundTrip "now" entry ==
  "[Demo.x; theorem Demo.x : True; [True], Demo.«a.b»; theorem Demo.«a.b» : False; []]"
#guard roundTrip "later" entry == "the file is about another state of the module"
#guard roundTrip "now" { entry with names := #[`Demo.x] } == "the module has other premises now"
#guard roundTrip "now" { entry with names := #[`Demo.x, `Demo.y, `Demo.z] } ==
  "`Demo.«a.b»` is no premise of the module any more"
#guard kept "now" entry ByteArray.empty == "byte 0: the input ends where a value is expected"

-- Two modules have two files, and the key of a module of Lean itself names its compiled file.
#guard (moduleTextsFile "cache" `A).toString != (moduleTextsFile "cache" `B).toString

run_meta do
  let key ← moduleTextsKey `Init.Prelude
  unless (key.splitOn "Prelude.olean").length == 2 do
    throwError "the key does not name the compiled file: {key}"

end LeanHammerExtTest.ModuleTextsTest
