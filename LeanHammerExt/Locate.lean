/-
Copyright (c) 2026 The LeanHammerExt authors. All rights reserved.
Released under Apache 2.0 license as described in the file LICENSE.
Authors: The LeanHammerExt authors
-/

/-!
# Where the sidecar's executable is

In: the environment variables and the file system. Out: the path of `lean-sidecar`. Shared by the plugin, which starts
it, and by `lake exe sidecar`, which installs it.
-/

namespace LeanHammerExt

open System (FilePath)

/-- The user's home folder, or the current one when there is none. -/
def homeFolder : IO FilePath := do
  let key : String := if System.Platform.isWindows then "USERPROFILE" else "HOME"
  match ← IO.getEnv key with
  | some path => return FilePath.mk path
  | none => IO.currentDir

/-- The value of an environment variable that is set and not empty. -/
def environmentVariable? (name : String) : IO (Option String) := do
  match ← IO.getEnv name with
  | some value => return if value == "" then none else some value
  | none => return none

/--
Folder of what the sidecar keeps: `LEAN_SIDECAR_DATA`, else `lean-sidecar` in `XDG_DATA_HOME`, else in
`~/.local/share`. The sidecar itself decides in the same way.
-/
def sidecarFolder : IO FilePath := do
  if let some path ← environmentVariable? "LEAN_SIDECAR_DATA" then
    return FilePath.mk path
  if let some path ← environmentVariable? "XDG_DATA_HOME" then
    return FilePath.mk path / "lean-sidecar"
  return (← homeFolder) / ".local" / "share" / "lean-sidecar"

/--
Folder of what can be made again: `LEAN_SIDECAR_CACHE`, else `lean-sidecar` in `XDG_CACHE_HOME`, else in `~/.cache`. The
sidecar itself decides in the same way.
-/
def cacheFolder : IO FilePath := do
  if let some path ← environmentVariable? "LEAN_SIDECAR_CACHE" then
    return FilePath.mk path
  if let some path ← environmentVariable? "XDG_CACHE_HOME" then
    return FilePath.mk path / "lean-sidecar"
  return (← homeFolder) / ".cache" / "lean-sidecar"

/-- Folder of the private virtual environment that `lake exe sidecar` makes. -/
def environmentFolder : IO FilePath := do
  return (← sidecarFolder) / "venv"

/-- An executable of a virtual environment. -/
def environmentExecutable (environment : FilePath) (name : String) : FilePath :=
  if System.Platform.isWindows then
    environment / "Scripts" / (name ++ ".exe")
  else
    environment / "bin" / name

/-- The first file called `name` in a folder of the variable `PATH`. -/
def findOnPath (name : String) : IO (Option FilePath) := do
  let some searchPath ← IO.getEnv "PATH"
    | return none
  let fileName : String := if System.Platform.isWindows then name ++ ".exe" else name
  for folder in System.SearchPath.parse searchPath do
    let candidate : FilePath := folder / fileName
    if ← candidate.pathExists then
      return some candidate
  return none

/-- The file `name` in `folder` or in the nearest folder above it. -/
partial def findAbove (folder : FilePath) (name : String) : IO (Option FilePath) := do
  let candidate : FilePath := folder / name
  if ← candidate.pathExists then
    return some candidate
  match folder.parent with
  | none => return none
  | some parent => findAbove parent name

/-- The file that a user calls `command`: a path, or the name of a program on `PATH`. -/
def findCommand (command : String) : IO (Option FilePath) := do
  let path : FilePath := FilePath.mk command
  if ← path.pathExists then
    return some path
  findOnPath command

/--
The sidecar's executable: the one that the user names in `command`, or else the one of the private virtual environment, or
else the first one on `PATH`.
-/
def locateSidecar (command : String) : IO (Option FilePath) := do
  if command != "" then
    return ← findCommand command
  let installed : FilePath := environmentExecutable (← environmentFolder) "lean-sidecar"
  if ← installed.pathExists then
    return some installed
  findOnPath "lean-sidecar"

end LeanHammerExt
