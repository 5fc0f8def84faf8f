/-
Copyright (c) 2026 The LeanHammerExt authors. All rights reserved.
Released under Apache 2.0 license as described in the file LICENSE.
Authors: The LeanHammerExt authors
-/
import Lean

/-!
# The command line of `lake exe extract`

In: the arguments. Out: what was asked for, or what is wrong with them.
-/

namespace LeanHammerExt.Extraction

open Lean

/-- How it is used. -/
def usage : String :=
  "usage: lake exe extract MODULE... [--output FOLDER] [--only PREFIX]... [--jobs N] [--resume]\n\
  Writes the declarations, the module graph and the proof states with their premises of the modules that are named\n\
  and of those of the same root that they import, one file a module. The modules must have been built.\n\n\
  --output FOLDER   where the files go (extracted when not given)\n\
  --only PREFIX     only modules called PREFIX or below it; may be given several times\n\
  --jobs N          how many modules are worked on at the same time, each in a process of its own (4)\n\
  --resume          leave out modules that have a file already\n\
  --help            print this\n\n\
  `lean-sidecar corpus check FOLDER` checks what was written."

/-- What was asked for. -/
structure Choices where
  /-- The modules that were named. -/
  modules : Array Name := #[]
  /-- Where the files go. -/
  output : String := "extracted"
  /-- Prefixes of the modules to write; when there are none, the roots of the named modules. -/
  only : Array Name := #[]
  /-- How many processes run at the same time. -/
  jobs : Nat := 4
  /-- Whether modules that have a file are left out. -/
  resume : Bool := false
  /-- Whether to say how it is used. -/
  help : Bool := false
  /-- Whether this process writes the one named module itself; the program gives this to its own children. -/
  worker : Bool := false
deriving Inhabited

/-- Reads the command line. -/
def readArguments : List String → Choices → Except String Choices
  | [], choices =>
    if choices.modules.isEmpty && !choices.help then
      .error "no module is named"
    else
      .ok choices
  | "--help" :: rest, choices => readArguments rest { choices with help := true }
  | "--resume" :: rest, choices => readArguments rest { choices with resume := true }
  | "--worker" :: rest, choices => readArguments rest { choices with worker := true }
  | "--output" :: folder :: rest, choices => readArguments rest { choices with output := folder }
  | "--only" :: moduleName :: rest, choices =>
    readArguments rest { choices with only := choices.only.push moduleName.toName }
  | "--jobs" :: number :: rest, choices =>
    match number.toNat? with
    | some (count + 1) => readArguments rest { choices with jobs := count + 1 }
    | _ => .error s!"--jobs wants a number from 1, not `{number}`"
  | argument :: rest, choices =>
    if argument.startsWith "-" then
      .error s!"the argument `{argument}` is not known or lacks its value"
    else if argument.toName.isAnonymous then
      .error s!"`{argument}` is not the name of a module"
    else
      readArguments rest { choices with modules := choices.modules.push argument.toName }

/-- Whether a module is among those that were asked for. -/
def Choices.wants (choices : Choices) (moduleName : Name) : Bool :=
  if choices.only.isEmpty then
    choices.modules.any fun (named : Name) => named.getRoot == moduleName.getRoot
  else
    choices.only.any fun (wanted : Name) => wanted.isPrefixOf moduleName

end LeanHammerExt.Extraction
