/-
Copyright (c) 2026 The LeanHammerExt authors. All rights reserved.
Released under Apache 2.0 license as described in the file LICENSE.
Authors: The LeanHammerExt authors
-/

/-!
# Waiting with a deadline

In: something that will be finished at some time. Out: whether it was in time. Nothing here blocks for longer than a few
milliseconds at a time, so that an interrupt is seen at once.
-/

namespace LeanHammerExt.Bridge

/-- How waiting ended. -/
inductive Waited where
  /-- What was waited for is there. -/
  | finished
  /-- The deadline passed. -/
  | late
  /-- The caller no longer wants it. -/
  | stopped
deriving Inhabited, BEq, Repr

/--
Waits until `finished` says so, the clock `IO.monoMsNow` reaches `deadline`, or `stop` says so. `pause` is the length of
the next sleep in milliseconds; sleeps grow up to 5.
-/
partial def waitUntil (finished : BaseIO Bool) (deadline : Nat) (stop : BaseIO Bool)
    (pause : Nat := 1) : BaseIO Waited := do
  if ← finished then
    return .finished
  if ← stop then
    return .stopped
  let now : Nat ← IO.monoMsNow
  if deadline ≤ now then
    return .late
  IO.sleep (min pause (deadline - now)).toUInt32
  waitUntil finished deadline stop (min 5 (pause + 1))

end LeanHammerExt.Bridge
