/-
Copyright (c) 2026 The LeanHammerExt authors. All rights reserved.
Released under Apache 2.0 license as described in the file LICENSE.
Authors: The LeanHammerExt authors
-/
import Lean

/-!
# Where a module comes from

In: the name of a module, with the search paths that Lake sets. Out: its source file, the Lake package that has it, the
commit of that package, and the address of the file on the web, as far as they are known.
-/

namespace LeanHammerExt.Extraction

open Lean
open System (FilePath)

/-- A Lake package. -/
structure Package where
  /-- Its name. -/
  name : String
  /-- Its folder. -/
  folder : FilePath
  /-- The commit that is used. -/
  revision? : Option String
  /-- The address of its repository. -/
  repository? : Option String
  /-- The folder inside the repository, `""` for the repository itself. -/
  inside : String
deriving Inhabited

/-- Where a module comes from. -/
structure Provenance where
  /-- Its source file. -/
  file : FilePath
  /-- The package that has it. -/
  package? : Option Package
  /-- The address of the source file. -/
  address? : Option String
  /-- The content of `lean-toolchain`. -/
  toolchain? : Option String

/-- A text field of a JSON object; nothing when it is missing, `null` or empty. -/
def textField? (json : Json) (field : String) : Option String :=
  match json.getObjValAs? String field with
  | .ok "" => none
  | .ok value => some value
  | .error _ => none

/-- The result of an action, or nothing when it fails. -/
def attempt {α : Type} (action : IO α) : IO (Option α) := do
  match ← EIO.toBaseIO action with
  | .ok value => return some value
  | .error _ => return none

/-- What a command prints, without white space around it; nothing when it fails or prints nothing. -/
def outputOf? (command : String) (arguments : Array String) : IO (Option String) := do
  let finished? : Option IO.Process.Output ←
    attempt (IO.Process.output { cmd := command, args := arguments })
  match finished? with
  | some output =>
    let printed : String := output.stdout.trimAscii.toString
    return if output.exitCode == 0 && printed != "" then some printed else none
  | none => return none

/-- A path without links, `.` and `..`, if there is such a file. -/
def resolved? (path : FilePath) : IO (Option FilePath) :=
  attempt (IO.FS.realPath path)

/-- The folder that Lake gives a package: named without the quotation marks of names, and inside it the subfolder. -/
def fetchedFolder (packagesFolder : FilePath) (name inside : String) : FilePath :=
  let repository : FilePath := packagesFolder / (name.replace "«" "").replace "»" ""
  if inside == "" then repository else repository / inside

/-- A package that the manifest names. -/
def manifestPackage? (packagesFolder : FilePath) (entry : Json) : IO (Option Package) := do
  match textField? entry "name" with
  | none => return none
  | some name =>
    let inside : String := (textField? entry "subDir").getD ""
    let folder : FilePath :=
      match textField? entry "dir" with
      | some dir => FilePath.mk dir
      | none => fetchedFolder packagesFolder name inside
    match ← resolved? folder with
    | none => return none
    | some found =>
      return some {
        name := name
        folder := found
        revision? := textField? entry "rev"
        repository? := textField? entry "url"
        inside := inside
      }

/-- The core library, whose sources come with the toolchain. -/
def corePackage? : IO (Option Package) := do
  let sysroot : FilePath ← findSysroot
  match ← resolved? (sysroot / "src" / "lean") with
  | none => return none
  | some folder =>
    return some {
      name := "lean4"
      folder := folder
      revision? := some Lean.githash
      repository? := some "https://github.com/leanprover/lean4"
      inside := "src"
    }

/-- The manifest of the current folder, or an empty object. -/
def readManifest : IO Json := do
  let text? : Option String ← attempt (IO.FS.readFile "lake-manifest.json")
  match text? with
  | none => return Json.mkObj []
  | some text =>
    match Json.parse text with
    | .ok json => return json
    | .error _ => return Json.mkObj []

/-- Every package whose modules may be extracted from the current folder. -/
def readPackages : IO (Array Package) := do
  let manifest : Json ← readManifest
  let packagesFolder : FilePath :=
    FilePath.mk ((textField? manifest "packagesDir").getD ".lake/packages")
  let entries : Array Json :=
    match manifest.getObjValAs? (Array Json) "packages" with
    | .ok entries => entries
    | .error _ => #[]
  let mut found : Array Package := #[]
  for entry in entries do
    match ← manifestPackage? packagesFolder entry with
    | some package => found := found.push package
    | none => pure ()
  match ← resolved? "." with
  | none => pure ()
  | some folder =>
    let revision? : Option String ← outputOf? "git" #["rev-parse", "HEAD"]
    let repository? : Option String ← outputOf? "git" #["config", "--get", "remote.origin.url"]
    let inside? : Option String ← outputOf? "git" #["rev-parse", "--show-prefix"]
    let root : Package := {
      name := (textField? manifest "name").getD (folder.fileName.getD "")
      folder := folder
      revision? := revision?
      repository? := repository?
      inside := inside?.getD ""
    }
    found := found.push root
  match ← corePackage? with
  | some package => found := found.push package
  | none => pure ()
  return found

/-- What is left of `components` behind `start`, if they begin with it. -/
def behind? : List String → List String → Option (List String)
  | [], components => some components
  | first :: start, component :: components =>
    if first == component then behind? start components else none
  | _ :: _, [] => none

/-- The package with the longest folder that has `file`, and the path of the file inside it. -/
def packageOf? (packages : Array Package) (file : FilePath) : Option (Package × List String) :=
  let step (best? : Option (Package × List String)) (package : Package) :
      Option (Package × List String) :=
    match behind? package.folder.components file.components with
    | none => best?
    | some rest =>
      match best? with
      | none => some (package, rest)
      | some (other, otherRest) =>
        if rest.length < otherRest.length then some (package, rest) else some (other, otherRest)
  packages.foldl step none

/-- A text without `ending`, if it ends so. -/
def withoutEnding (text ending : String) : String :=
  if text.endsWith ending then
    String.ofList (text.toList.take (text.length - ending.length))
  else
    text

/-- The page of a repository on GitHub, if its address leads there. -/
def repositoryPage? (address : String) : Option String :=
  let cleaned : String := withoutEnding (withoutEnding address "/") ".git"
  let page : String := cleaned.replace "git@github.com:" "https://github.com/"
  if page.startsWith "https://github.com/" then some page else none

/-- The address of the file at `path` inside a package. -/
def addressOf? (package : Package) (path : List String) : Option String :=
  match package.repository?.bind repositoryPage?, package.revision? with
  | some page, some revision =>
    let inside : List String := (package.inside.splitOn "/").filter fun (part : String) => part != ""
    some (page ++ "/blob/" ++ revision ++ "/" ++ "/".intercalate (inside ++ path))
  | _, _ => none

/-- Where a module comes from; fails when its source is not found. -/
def provenanceOf (moduleName : Name) : IO Provenance := do
  let searchPath : SearchPath ← getSrcSearchPath
  let found? : Option FilePath ← attempt (findLean searchPath moduleName)
  let resolvedFile? : Option FilePath ←
    match found? with
    | some path => resolved? path
    | none => pure none
  match resolvedFile? with
  | none => throw (IO.userError "its source file is in none of the folders of LEAN_SRC_PATH")
  | some file =>
    let packages : Array Package ← readPackages
    let place? : Option (Package × List String) := packageOf? packages file
    let toolchain? : Option String ← attempt (IO.FS.readFile "lean-toolchain")
    return {
      file := file
      package? := place?.map fun (place : Package × List String) => place.1
      address? := place?.bind fun (place : Package × List String) => addressOf? place.1 place.2
      toolchain? := toolchain?.map fun (text : String) => text.trimAscii.toString
    }

end LeanHammerExt.Extraction
