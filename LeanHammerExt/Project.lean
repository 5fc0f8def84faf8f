/-
Copyright (c) 2026 The LeanHammerExt authors. All rights reserved.
Released under Apache 2.0 license as described in the file LICENSE.
Authors: The LeanHammerExt authors
-/
import Lean
import LeanHammerExt.Locate
import LeanHammerExt.Protocol

/-!
# Do project, plugin and sidecar fit?

In: the project's manifest and what a server says about itself. Out: what does not fit.
-/

namespace LeanHammerExt

open Lean
open System (FilePath)

/-- The revision of a package in a manifest. -/
def revisionIn (manifest : Json) (package : String) : Option String :=
  match manifest.getObjValAs? (Array Json) "packages" with
  | .error _ => none
  | .ok packages =>
    packages.findSome? fun (entry : Json) =>
      match entry.getObjValAs? String "name", entry.getObjValAs? String "rev" with
      | .ok name, .ok revision => if name == package then some revision else none
      | _, _ => none

/-- The text of the project's manifest, if there is one. -/
def projectManifest : IO (Option String) := do
  let folder : FilePath ← IO.currentDir
  match ← findAbove folder "lake-manifest.json" with
  | none => return none
  | some file =>
    let text : String ← IO.FS.readFile file
    return some text

/--
The revision of Mathlib that the project uses, from its manifest. A manifest that cannot be read says nothing: the plugin
works without it.
-/
def projectMathlib : BaseIO (Option String) := do
  match ← EIO.toBaseIO projectManifest with
  | .ok (some text) =>
    match Json.parse text with
    | .ok manifest => return revisionIn manifest "mathlib"
    | .error _ => return none
  | _ => return none

/-- The failure of a server that speaks another protocol, if it does. -/
def wrongProtocol? (status : Protocol.Status) : Option SidecarError :=
  if status.protocol == Protocol.version then
    none
  else
    some {
      kind := .protocol
      message := s!"version {status.version} of the sidecar speaks protocol {status.protocol}, this plugin \
        {Protocol.version}"
      hint? := some "run `lake exe sidecar`, stop the running server, and restart the file"
    }

/--
Whether a package of an index is Mathlib: an extraction calls packages as Lake does, documentation pages call them by their
repositories.
-/
def isMathlib (package : String) : Bool :=
  package == "mathlib" || package == "leanprover-community/mathlib4"

/-- What is wrong with the revision of Mathlib that an index was made from, if anything is. -/
def otherMathlib? (status : Protocol.Status) (mathlib? : Option String) : Option String :=
  match mathlib? with
  | none => none
  | some used =>
    match status.revisions.find? (fun (entry : String × String) => isMathlib entry.1) with
    | none => some s!"the project uses revision {used} of Mathlib, which the index does not mention"
    | some entry =>
      if entry.2 == used then
        none
      else
        some s!"the project uses revision {used} of Mathlib, the index was made from {entry.2}"

end LeanHammerExt
