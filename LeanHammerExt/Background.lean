/-
Copyright (c) 2026 The LeanHammerExt authors. All rights reserved.
Released under Apache 2.0 license as described in the file LICENSE.
Authors: The LeanHammerExt authors
-/
import Lean
import LeanHammerExt.Bridge.Poll
import LeanHammerExt.Sidecar

/-!
# Tactics in the background

In: an action on the main goal. Out: a task that runs it on a copy of the goal, in a thread of its own. Whatever it
changes is lost with the thread, its messages included; only its value comes back. So what comes back should be
text, which can be run again where it counts.
-/

namespace LeanHammerExt

open Lean Meta Elab Tactic

/--
Starts an action on a copy of the main goal. It ends when `token` is set, as soon as it looks for that; the caller
has to set the token when it no longer waits.
-/
def startOnCopy {α : Type} (action : TacticM α) (token : IO.CancelToken) :
    TacticM (Task (Except Exception α)) :=
  withMainContext do
    let target : Expr ← getMainTarget
    let copy : Expr ← mkFreshExprSyntheticOpaqueMVar target
    let termContext : Term.Context ← readThe Term.Context
    let termState : Term.State ← getThe Term.State
    let metaContext : Meta.Context ← readThe Meta.Context
    let metaState : Meta.State ← getThe Meta.State
    let work : TermElabM α := do
      let value : IO.Ref (Option α) ← IO.mkRef none
      let _ ← Tactic.run copy.mvarId! do
        let found : α ← action
        value.set (some found)
      match ← value.get with
      | some found => return found
      | none => throwError "internal error: `startOnCopy` lost a value"
    let run (_ : Unit) : CoreM α := do
      -- Duper prints to the standard output, which belongs to the language server.
      let (_, found) ← IO.FS.withIsolatedStreams (isolateStderr := true)
        (MetaM.run' (ctx := metaContext) (s := metaState) (Term.TermElabM.run' work termContext termState))
      return found
    let wrapped : Unit → EIO Exception α ← Core.wrapAsync run (some token)
    -- A thread of its own: engines wait for processes, which must not keep the shared threads busy.
    let task : Task (Except Exception α) ← EIO.asTask (wrapped ()) .dedicated
    return task

/-- Whether the current elaboration was cancelled. -/
def cancelledHere : CoreM (BaseIO Bool) := do
  let token? : Option IO.CancelToken := (← readThe Core.Context).cancelTk?
  return Sidecar.stopOf token?

/--
Runs an action on a copy of the main goal, at most until `deadline` (by `IO.monoMsNow`). Returns nothing when it was
not done by then.
-/
def runOnCopy {α : Type} (action : TacticM α) (deadline : Nat) : TacticM (Option (Except Exception α)) := do
  let token : IO.CancelToken ← IO.CancelToken.new
  let stop : BaseIO Bool ← cancelledHere
  let task : Task (Except Exception α) ← startOnCopy action token
  let waited : Bridge.Waited ← Bridge.waitUntil (IO.hasFinished task) deadline stop
  token.set
  Core.checkInterrupted
  match waited with
  | .finished => return some task.get
  | _ => return none

end LeanHammerExt
