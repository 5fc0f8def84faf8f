/-
Copyright (c) 2026 The LeanHammerExt authors. All rights reserved.
Released under Apache 2.0 license as described in the file LICENSE.
Authors: The LeanHammerExt authors
-/

/-!
# What can go wrong with the sidecar

In: nothing. Out: one type of error for everything between the plugin and the sidecar, which says what happened and what
to do about it.
-/

namespace LeanHammerExt

/-- The kinds of failure that the plugin tells apart. -/
inductive FailureKind where
  /-- `hammer.sidecar.enabled` is false. -/
  | disabled
  /-- No executable was found. -/
  | notInstalled
  /-- The executable could not be started. -/
  | notStarted
  /-- The process ended, or was ended because it hung. -/
  | ended
  /-- The bytes that came back are not what the protocol says. -/
  | protocol
  /-- No answer within the time allowed. -/
  | deadline
  /-- The user or the caller no longer wants the answer. -/
  | interrupted
  /-- The sidecar answered with an error; `SidecarError.code` is its code. -/
  | refused
deriving Inhabited, BEq, Repr

/-- A failure of the sidecar, with the way out. -/
structure SidecarError where
  /-- What kind of failure this is. -/
  kind : FailureKind
  /-- The sidecar's own code (`"conflict"`, `"overloaded"`, …), or `""`. -/
  code : String := ""
  /-- What is wrong, naming the value. -/
  message : String
  /-- The field of the request that is at fault. -/
  field? : Option String := none
  /-- What to do about it. -/
  hint? : Option String := none
deriving Inhabited, BEq, Repr

/-- One line: field, message and hint. -/
def SidecarError.render (error : SidecarError) : String :=
  let field : String :=
    match error.field? with
    | some name => name ++ ": "
    | none => ""
  let hint : String :=
    match error.hint? with
    | some text => " — " ++ text
    | none => ""
  field ++ error.message ++ hint

instance : ToString SidecarError := ⟨SidecarError.render⟩

/-- The failure of a switched-off sidecar. -/
def SidecarError.switchedOff : SidecarError where
  kind := .disabled
  message := "the sidecar is switched off"
  hint? := some "`set_option hammer.sidecar.enabled true` switches it on"

/-- The failure of a machine without the sidecar; `command` is the executable that was asked for, or `""`. -/
def SidecarError.missing (command : String) : SidecarError where
  kind := .notInstalled
  message := if command == "" then "no `lean-sidecar` was found" else s!"`{command}` was not found"
  hint? := some
    "run `lake exe sidecar` once, or name the executable with `set_option hammer.sidecar.command`"

/-- The failure of a request that took too long. -/
def SidecarError.late (method : String) (milliseconds : Nat) : SidecarError where
  kind := .deadline
  message := s!"no answer to `{method}` within {milliseconds} ms"
  hint? := some
    "the first request of a day starts a server; try again, or raise `hammer.sidecar.timeout`"

/-- The failure of a request that nobody waits for any more. -/
def SidecarError.stopped (method : String) : SidecarError where
  kind := .interrupted
  message := s!"`{method}` was interrupted"

end LeanHammerExt
