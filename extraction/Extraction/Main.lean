/-
Copyright (c) 2026 The LeanHammerExt authors. All rights reserved.
Released under Apache 2.0 license as described in the file LICENSE.
Authors: The LeanHammerExt authors
-/
import Extraction.Run

/-!
# `lake exe extract`

In: the command line. Out: the exit code: 0 when every module that was asked for has its file, 1 when one has none, 2 when
the command line is wrong.
-/

open LeanHammerExt.Extraction

/-- Reads the command line and does what it asks for. -/
unsafe def main (arguments : List String) : IO UInt32 := do
  match readArguments arguments {} with
  | .error reason =>
    IO.eprintln s!"extract: {reason}\n\n{usage}"
    return 2
  | .ok choices =>
    if choices.help then
      IO.println usage
      return 0
    Lean.initSearchPath (← Lean.findSysroot)
    if choices.worker then
      -- The file may use what the modules that it imports set up when they are loaded.
      Lean.enableInitializersExecution
      match choices.modules[0]? with
      | none => return 2
      | some moduleName =>
        let code : UInt8 ← workOn choices.output moduleName
        -- What the file started in the background may not keep the process alive.
        IO.Process.exit code
    else
      run choices
