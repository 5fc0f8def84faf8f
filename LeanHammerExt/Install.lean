/-
Copyright (c) 2026 The LeanHammerExt authors. All rights reserved.
Released under Apache 2.0 license as described in the file LICENSE.
Authors: The LeanHammerExt authors
-/
import LeanHammerExt.Bridge.Process
import LeanHammerExt.Locate
import LeanHammerExt.Protocol

/-!
# `lake exe sidecar`

In: a Python of version 3.11 or later. Out: the sidecar in a virtual environment of its own, where the plugin looks for it
first, and the proof that it answers.

```
lake exe sidecar                      install or upgrade, then check
lake exe sidecar --check              check only
lake exe sidecar --python PATH        use this Python
lake exe sidecar --from SOURCE        install this folder, file or requirement
lake exe sidecar -- PIP-ARGUMENT…     hand the rest to `pip install`
```
-/

namespace LeanHammerExt.Install

open System (FilePath)

/-- What was asked for on the command line. -/
structure Choices where
  /-- The Python to use. -/
  python? : Option String := none
  /-- What to install. -/
  source? : Option String := none
  /-- More arguments for `pip install`. -/
  pipArguments : Array String := #[]
  /-- Whether to install nothing. -/
  checkOnly : Bool := false
  /-- Whether to say how it is used. -/
  help : Bool := false

/-- How it is used. -/
def usage : String :=
  "usage: lake exe sidecar [--check] [--python PATH] [--from SOURCE] [-- PIP-ARGUMENT...]\n\
  Installs the sidecar into a virtual environment of its own and checks that it answers.\n\n\
  --check          check only\n\
  --python PATH    use this Python (3.11 or later)\n\
  --from SOURCE    install this folder, file or requirement; the sources of this package when not given\n\
  --               hand the rest to `pip install`"

/-- Reads the command line. -/
def readArguments : List String → Choices → Except String Choices
  | [], choices => .ok choices
  | "--help" :: _, choices => .ok { choices with help := true }
  | "--check" :: rest, choices => readArguments rest { choices with checkOnly := true }
  | "--python" :: path :: rest, choices => readArguments rest { choices with python? := some path }
  | "--from" :: source :: rest, choices => readArguments rest { choices with source? := some source }
  | "--" :: rest, choices => .ok { choices with pipArguments := rest.toArray }
  | other :: _, _ => .error s!"the argument `{other}` is not known or lacks its value"

/-- Prints a program that ends with 0 under Python 3.11 and later, and with 1 under earlier ones. -/
def versionTest : String :=
  "import sys; sys.exit(0 if sys.version_info >= (3, 11) else 1)"

/-- Whether a command is a Python that is new enough. -/
def isPython (command : String) : IO Bool := do
  let action : IO IO.Process.Output :=
    IO.Process.output { cmd := command, args := #["-c", versionTest] }
  match ← EIO.toBaseIO action with
  | .ok output => return output.exitCode == 0
  | .error _ => return false

/-- The Python to use: the one that was asked for, else the first one that is new enough. -/
def findPython (choices : Choices) : IO (Option String) := do
  let candidates : List String :=
    match choices.python? with
    | some path => [path]
    | none => ["python3", "python3.14", "python3.13", "python3.12", "python3.11", "python"]
  for candidate in candidates do
    if ← isPython candidate then
      return some candidate
  return none

/-- What to install: what was asked for, else the folder with the sources of this package. -/
def findSource (choices : Choices) : IO String := do
  if let some source := choices.source? then
    return source
  let here : FilePath ← IO.currentDir
  let packaged : FilePath := here / ".lake" / "packages" / "LeanHammerExt"
  if ← (packaged / "pyproject.toml").pathExists then
    return packaged.toString
  let program : FilePath ← IO.appPath
  for start in [program.parent.getD here, here] do
    match ← findAbove start "pyproject.toml" with
    | some file => return (file.parent.getD here).toString
    | none => pure ()
  return "lean-hammer-sidecar"

/-- Runs a command before the user's eyes; whether it succeeded. -/
def runVisibly (command : String) (arguments : Array String) : IO Bool := do
  IO.println s!"$ {command} {" ".intercalate arguments.toList}"
  let child ← IO.Process.spawn { cmd := command, args := arguments }
  let code : UInt32 ← child.wait
  return code == 0

/-- Makes the environment and installs the sidecar; says what went wrong. -/
def install (choices : Choices) : IO (Option String) := do
  let some python ← findPython choices
    | return some "no Python 3.11 or later was found; name one with --python PATH"
  let environment : FilePath ← environmentFolder
  let inside : String := (environmentExecutable environment "python").toString
  unless ← isPython inside do
    IO.FS.createDirAll (← sidecarFolder)
    unless ← runVisibly python #["-m", "venv", "--clear", environment.toString] do
      return some "the virtual environment could not be made; some systems need a package such as python3-venv"
  let source : String ← findSource choices
  let arguments : Array String :=
    #["-m", "pip", "install", "--upgrade", source] ++ choices.pipArguments
  unless ← runVisibly inside arguments do
    return some "pip could not install the sidecar; its output says why"
  return none

/-- Milliseconds that the sidecar has to start a server and answer. -/
def checkTimeout : Nat := 180000

/-- Starts the bridge, asks for the status, and prints it; says what went wrong. -/
def check : IO (Option String) := do
  let some executable ← locateSidecar ""
    | return some "no `lean-sidecar` was found; run `lake exe sidecar`"
  IO.println s!"checking {executable}; the first start of the server may take a minute"
  match ← Bridge.spawn executable.toString "" with
  | .error error => return some error.render
  | .ok process =>
    match ← process.send "status" (.map #[("deadline_ms", Protocol.ofNat checkTimeout)]) with
    | .error error => return some error.render
    | .ok ticket =>
      let deadline : Nat := (← IO.monoMsNow) + checkTimeout
      match ← Bridge.waitUntil ticket.isAnswered deadline (pure false) with
      | .finished =>
        let answer : Bridge.Answer ← ticket.answer
        match Protocol.readAnswer Protocol.Status.read answer with
        | .error error => return some error.render
        | .ok status =>
          IO.println s!"sidecar {status.version} answers: index revision {status.revision}, \
            {status.declarations} declarations, encoder {status.encoder}, \
            provers: {", ".intercalate status.provers.toList}"
          if status.protocol == Protocol.version then
            return none
          else
            return some s!"it speaks protocol {status.protocol}, this plugin {Protocol.version}"
      | _ =>
        process.close (SidecarError.late "status" checkTimeout)
        return some (SidecarError.late "status" checkTimeout).render

end LeanHammerExt.Install

open LeanHammerExt.Install in
/-- Installs the sidecar and checks it. -/
def main (arguments : List String) : IO UInt32 := do
  match readArguments arguments {} with
  | .error message =>
    IO.eprintln message
    IO.eprintln usage
    return 2
  | .ok choices =>
    if choices.help then
      IO.println usage
      return 0
    if !choices.checkOnly then
      match ← install choices with
      | some message =>
        IO.eprintln message
        return 1
      | none => pure ()
    match ← check with
    | some message =>
      IO.eprintln message
      return 1
    | none => return 0
