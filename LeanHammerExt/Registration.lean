/-
Copyright (c) 2026 The LeanHammerExt authors. All rights reserved.
Released under Apache 2.0 license as described in the file LICENSE.
Authors: The LeanHammerExt authors
-/
import Lean
import LeanHammerExt.ModuleTexts
import LeanHammerExt.Premises
import LeanHammerExt.Project
import LeanHammerExt.Sidecar

/-!
# Telling the sidecar what can be seen

In: the imports of the current file. Out: the name of an environment that the sidecar knows, under which requests for
premises are made.

Most imported modules are in the sidecar's index, and their names suffice. Of the others the sidecar is told the content
hashes of their premises, answers which texts it has never seen, and is sent those. This happens once in a Lean process, in
a thread of its own, and goes on in an editor when the tactic that asked for it has run out of time: until it is done,
requests are made under a first environment that lacks the modules which the index does not know. On the command line it
stops when nobody waits for it any more, because a Lean process joins its threads before it ends.
-/

namespace LeanHammerExt

open Lean Meta

/-- An environment that the sidecar knows. -/
structure Registered where
  /-- Its name. -/
  environment : String
  /-- Revision of the index. -/
  revision : String
  /-- Imported modules that the index does not know. -/
  unknownModules : Array String
  /-- How many of their premises were described. -/
  described : Nat
  /-- How many of them were left out, because there are too many premises or time was up. -/
  omitted : Nat
deriving Inhabited, Repr

/-- A registration that is done or under way. -/
structure Registration where
  /-- What it was made for. -/
  key : String
  /-- The environment without unknown modules, as soon as there is one. -/
  first : IO.Ref (Option Registered)
  /-- The whole environment. -/
  whole : Task (Except SidecarError Registered)

/-- The registration of this process; a new one replaces it when imports or options change. -/
initialize registrationRef : Std.Mutex (Option Registration) ← Std.Mutex.new none

/-- What does not fit between project and index, as far as a registration found out and nobody was told. -/
initialize mismatchRef : IO.Ref (Option String) ← IO.mkRef none

/-- Until when (by `IO.monoMsNow`) somebody waits for a registration. -/
initialize interestRef : IO.Ref Nat ← IO.mkRef 0

/-- Notes that somebody waits until `deadline`. -/
def showInterest (deadline : Nat) : BaseIO Unit :=
  interestRef.modify fun (known : Nat) => max known deadline

/-- Whether a registration should stop: not in an editor, where the next request is likely to come. -/
def nobodyWaits (inServer : Bool) : BaseIO Bool := do
  if inServer then
    return false
  let now : Nat ← IO.monoMsNow
  let latest : Nat ← interestRef.get
  return decide (latest < now)

/-- Milliseconds that one request of a registration may take, and the printing of premises. -/
def registrationTimeout : Nat := 120000

/-- Most texts in one request. -/
def batchSize : Nat := 2048

/-- Asks for one step of a registration. -/
def askEnvironment (settings : SidecarSettings) (stop : BaseIO Bool)
    (request : Protocol.EnvironmentRequest) :
    BaseIO (Except SidecarError Protocol.EnvironmentAnswer) := do
  let answer : Bridge.Answer ←
    Sidecar.ask settings "environment" request.params registrationTimeout stop
  return Protocol.readAnswer Protocol.EnvironmentAnswer.read answer

/-- Modules that are kept, and how many premises more there may be. -/
structure Kept where
  /-- The modules. -/
  modules : Array ModuleNames := #[]
  /-- How many premises more there may be. -/
  room : Nat
  /-- Whether a module was refused. -/
  full : Bool := false
deriving Inhabited

/-- Keeps a module if there is room for it and none was refused before. -/
def Kept.add (kept : Kept) (entry : ModuleNames) : Kept :=
  if kept.full then
    kept
  else if entry.names.size ≤ kept.room then
    { kept with
      modules := kept.modules.push entry
      room := kept.room - entry.names.size }
  else
    { kept with full := true }

/-- How many modules are read at the same time. -/
def modulesAtOnce : Nat := 64

/--
Reads the premises of the unknown modules, those that were imported last first, because they are the nearest to the
current file, until there are more than `limit`. Each module is read in a task of its own. Returns the modules in the
order of imports.
-/
def readLatest (filter : PremiseFilter) (moduleNames : Array Name) (unknown : Std.HashSet String)
    (limit : Nat) (stop : BaseIO Bool) : BaseIO (Array ModuleNames) := do
  let mut indices : Array Nat := #[]
  for index in [0:moduleNames.size] do
    if unknown.contains moduleNames[index]!.toString then
      indices := indices.push index
  indices := indices.reverse
  let mut kept : Kept := { room := limit }
  let mut start : Nat := 0
  let mut stopped : Bool := false
  while start < indices.size && !kept.full && !stopped do
    let chunk : Array Nat := indices.extract start (start + modulesAtOnce)
    let tasks : Array (Task ModuleNames) := chunk.map fun (index : Nat) =>
      let moduleName : Name := moduleNames[index]!
      Task.spawn fun (_ : Unit) =>
        { moduleName := moduleName, names := modulePremises filter moduleName index }
    for task in tasks do
      kept := kept.add task.get
    stopped ← stop
    start := start + modulesAtOnce
  return kept.modules.reverse

/-- The premises of modules, each with its module. -/
def premisesOf (modules : Array ModuleNames) : Array (Name × Option Name) :=
  modules.foldl
    (fun (found : Array (Name × Option Name)) (entry : ModuleNames) =>
      found ++ entry.names.map (fun (name : Name) => (name, some entry.moduleName)))
    #[]

/--
Modules by the hashes of their described premises. A module without premises is listed too, because there is nothing else
to know about it.
-/
def listHashes (modules : Array ModuleNames) (premises : Array (String × Premise)) :
    Array Protocol.UnknownModule :=
  let hashes : Std.HashMap Name (Array String) :=
    premises.foldl
      (fun (known : Std.HashMap Name (Array String)) (item : String × Premise) =>
        let moduleName : Name := item.2.moduleName?.getD Name.anonymous
        known.insert moduleName ((known.getD moduleName #[]).push item.1))
      {}
  modules.map fun (entry : ModuleNames) =>
    { name := entry.moduleName.toString, hashes := hashes.getD entry.moduleName #[] }

/-- Sends the texts that the sidecar asks for, in batches; returns its last answer. -/
def sendMissing (settings : SidecarSettings) (stop : BaseIO Bool) (imports : Array String)
    (modules : Array Protocol.UnknownModule) (premises : Array (String × Premise))
    (answer : Protocol.EnvironmentAnswer) :
    BaseIO (Except SidecarError Protocol.EnvironmentAnswer) := do
  let missing : Std.HashSet String := Std.HashSet.ofArray answer.missing
  let wanted : Array (String × Premise) := premises.filter fun (item : String × Premise) =>
    missing.contains item.1
  let mut last : Protocol.EnvironmentAnswer := answer
  let mut start : Nat := 0
  while start < wanted.size do
    let batch : Array (String × Premise) := wanted.extract start (start + batchSize)
    let request : Protocol.EnvironmentRequest := {
      imports := imports
      modules := modules
      premises := batch.map fun (item : String × Premise) => item.2.describe item.1
    }
    match ← askEnvironment settings stop request with
    | .error error => return .error error
    | .ok next => last := next
    start := start + batchSize
  return .ok last

/-- Asks the server who it is; one that speaks another protocol is a failure. -/
def askStatus (settings : SidecarSettings) (stop : BaseIO Bool) :
    BaseIO (Except SidecarError Protocol.Status) := do
  let answer : Bridge.Answer ← Sidecar.ask settings "status" #[] registrationTimeout stop
  match Protocol.readAnswer Protocol.Status.read answer with
  | .error error => return .error error
  | .ok status =>
    match wrongProtocol? status with
    | some error => return .error error
    | none => return .ok status

/-- How often a warm-up that takes too long is repeated; what was encoded by then is kept. -/
def warmUpAttempts : Nat := 5

/--
Lets the sidecar encode the texts of an environment. A request under an environment waits until that is done, which may take
minutes for texts never seen before, so that it is done before the environment is used for a goal.
-/
def warmUp (settings : SidecarSettings) (stop : BaseIO Bool) (environment : String) : BaseIO Unit := do
  let request : Protocol.PremisesRequest := { goal := "⊢ True", count := 1, environment := environment }
  for _ in [0:warmUpAttempts] do
    match ← Sidecar.ask settings "premises" request.params registrationTimeout stop with
    | .ok _ => return
    | .error error =>
      unless error.kind == .deadline || error.code == "deadline" do
        return

/-- Names of the modules that the current file imports itself. -/
def directImports (env : Environment) : Array String :=
  env.header.imports.foldl
    (fun (names : Array String) (item : Import) =>
      let name : String := item.module.toString
      if names.contains name then names else names.push name)
    #[]

/--
Registers the current file's imports. `first` is set as soon as there is an environment that can be used, even if it
lacks modules.
-/
def registerImports (settings : SidecarSettings) (stop : BaseIO Bool)
    (first : IO.Ref (Option Registered)) : CoreM (Except SidecarError Registered) := do
  let env : Environment ← getEnv
  let filter : PremiseFilter ← PremiseFilter.current
  let limit : Nat := hammer.newPremises.get (← getOptions)
  let direct : Array String := directImports env
  match ← askEnvironment settings stop { imports := direct } with
  | .error error => return .error error
  | .ok answer =>
    if answer.unknownModules.isEmpty then
      let registered : Registered := {
        environment := answer.environment
        revision := answer.revision
        unknownModules := #[]
        described := 0
        omitted := 0
      }
      first.set (some registered)
      return .ok registered
    -- What an unknown module imports is unknown as well: all modules are named.
    let moduleNames : Array Name := env.header.moduleNames
    let imports : Array String := moduleNames.map fun (name : Name) => name.toString
    match ← askEnvironment settings stop { imports := imports } with
    | .error error => return .error error
    | .ok answer =>
      let started : Registered := {
        environment := answer.environment
        revision := answer.revision
        unknownModules := answer.unknownModules
        described := 0
        omitted := 0
      }
      first.set (some started)
      let unknown : Std.HashSet String := Std.HashSet.ofArray answer.unknownModules
      let kept : Array ModuleNames ← readLatest filter moduleNames unknown limit stop
      let (remembered, others) ← loadModules kept
      let token : IO.CancelToken ← IO.CancelToken.new
      let tasks : Array (Task (Except Exception (Array Premise))) ←
        startDescribing (premisesOf others) (some token)
      let deadline : Nat := (← IO.monoMsNow) + registrationTimeout
      let (printed, complete) ← collectDescribed tasks deadline stop
      if complete then
        keepModules others printed
      else
        token.set
      let premises : Array (String × Premise) :=
        (remembered ++ printed).map fun (premise : Premise) => (premise.hash, premise)
      let unknownModules : Array Protocol.UnknownModule := listHashes kept premises
      let request : Protocol.EnvironmentRequest := { imports := imports, modules := unknownModules }
      match ← askEnvironment settings stop request with
      | .error error => return .error error
      | .ok answer =>
        match ← sendMissing settings stop imports unknownModules premises answer with
        | .error error => return .error error
        | .ok last =>
          warmUp settings stop last.environment
          return .ok {
            environment := last.environment
            revision := last.revision
            unknownModules := started.unknownModules
            described := premises.size
            omitted := started.unknownModules.size - kept.size
          }

/-- Checks that the sidecar fits, and registers the current file's imports. -/
def register (settings : SidecarSettings) (first : IO.Ref (Option Registered)) :
    CoreM (Except SidecarError Registered) := do
  let inServer : Bool := (← getOptions).get `Elab.inServer false
  let stop : BaseIO Bool := nobodyWaits inServer
  match ← askStatus settings stop with
  | .error error => return .error error
  | .ok status =>
    mismatchRef.set (otherMathlib? status (← projectMathlib))
    registerImports settings stop first

/-- What a registration is made for: server, imports, and what counts as a premise. -/
def registrationKey (settings : SidecarSettings) : CoreM String := do
  let env : Environment ← getEnv
  let filter : PremiseFilter ← PremiseFilter.current
  let limit : Nat := hammer.newPremises.get (← getOptions)
  let excluded : List Name := filter.excludedModules ++ filter.excludedNames
  let parts : List String := [
    settings.command,
    settings.url,
    env.mainModule.toString,
    toString filter.instances,
    toString limit
  ]
  return "\n".intercalate
    (parts ++ (directImports env).toList ++ excluded.map fun (name : Name) => name.toString)

/-- Whether a registration failed, so that the next request may try again. -/
def Registration.hasFailed (registration : Registration) : BaseIO Bool := do
  unless ← IO.hasFinished registration.whole do
    return false
  match registration.whole.get with
  | .error _ => return true
  | .ok _ => return false

/-- The registration for `key`; starts `action` if there is none, or only one that failed. -/
def claimRegistration (key : String) (first : IO.Ref (Option Registered))
    (action : BaseIO (Except SidecarError Registered)) : BaseIO Registration :=
  registrationRef.atomically do
    let known? : Option Registration ← get
    match known? with
    | some known =>
      let failed : Bool ← known.hasFailed
      if known.key == key && !failed then
        return known
    | none => pure ()
    let whole : Task (Except SidecarError Registered) ← BaseIO.asTask action .dedicated
    let registration : Registration := { key := key, first := first, whole := whole }
    set (some registration)
    return registration

/-- The registration for the current file; starts one if there is none. -/
def startRegistration (settings : SidecarSettings) : CoreM Registration := do
  -- Whoever starts one is about to wait for it.
  showInterest ((← IO.monoMsNow) + 2000)
  let key : String ← registrationKey settings
  let first : IO.Ref (Option Registered) ← IO.mkRef none
  let action : Unit → EIO Exception (Except SidecarError Registered) ←
    Core.wrapAsync (fun (_ : Unit) => register settings first) none
  let guarded : BaseIO (Except SidecarError Registered) := do
    match ← EIO.toBaseIO (action ()) with
    | .ok result => return result
    | .error _ =>
      return .error {
        kind := .protocol
        message := "internal error: `register` threw an exception"
      }
  claimRegistration key first guarded

/-- Forgets the registration, because the sidecar no longer knows it. -/
def forgetRegistration : BaseIO Unit :=
  registrationRef.atomically do
    set (none : Option Registration)

/--
The environment to ask under: the whole one if it is there by `patience`, else the first one if it is there by `deadline`
(both by `IO.monoMsNow`).
-/
def awaitRegistration (registration : Registration) (patience deadline : Nat) (stop : BaseIO Bool) :
    BaseIO (Except SidecarError Registered) := do
  showInterest deadline
  let _ ← Bridge.waitUntil (IO.hasFinished registration.whole) (min patience deadline) stop
  let usable : BaseIO Bool := do
    if ← IO.hasFinished registration.whole then
      return true
    return (← registration.first.get).isSome
  match ← Bridge.waitUntil usable deadline stop with
  | .stopped => return .error (SidecarError.stopped "environment")
  | .late =>
    return .error {
      kind := .deadline
      message := "the sidecar is not ready yet"
      hint? := some "its server is starting; try again in a few seconds"
    }
  | .finished =>
    if ← IO.hasFinished registration.whole then
      match registration.whole.get with
      | .ok registered => return .ok registered
      | .error error =>
        -- The second part may fail (a text that is refused, a slow disk) when the first one did not.
        match ← registration.first.get with
        | some registered => return .ok registered
        | none => return .error error
    else
      match ← registration.first.get with
      | some registered => return .ok registered
      | none => return .error (SidecarError.stopped "environment")

end LeanHammerExt
