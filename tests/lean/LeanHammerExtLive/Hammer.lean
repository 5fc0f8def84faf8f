/-
Copyright (c) 2026 The LeanHammerExt authors. All rights reserved.
Released under Apache 2.0 license as described in the file LICENSE.
Authors: The LeanHammerExt authors
-/
import LeanHammerExt.Hammer

/-!
# `hammer` with a real sidecar and its provers

These tests need the sidecar with at least one external prover; `lake build LeanHammerExtLive` runs them.
-/

namespace LeanHammerExtLive.HammerLive

open Lean Meta Elab Tactic
open LeanHammerExt

set_option hammer.timeout 60
set_option hammer.sidecar.timeout 120
set_option hammer.fallback false

axiom Likes : Nat → Nat → Prop

axiom likes_back (a b : Nat) : Likes a b → Likes b a

axiom likes_through (a b c : Nat) : Likes a b → Likes b c → Likes a c

-- External provers alone.
#guard_msgs (drop info) in
example (p q r : Nat → Prop) (h : ∀ n, p n → q n) (k : ∀ n, q n → r n) (l : p 1) : r 1 := by
  hammer (mode := "auto") (premises := 0)

-- Only what the proof used is left.
example (p q r : Nat → Prop) (h : ∀ n, p n → q n) (k : ∀ n, r n → q n) (l : p 1) : q 1 := by
  run_tac do
    let now ← IO.monoMsNow
    let problem : Problem := { facts := #[], config := {}, deadline := now + 60000 }
    match ← autoEngine problem with
    | .proof candidate _ =>
      unless candidate.facts.size == 2 do
        throwError "{candidate.facts.size} facts are given to `duper`"
      runScript (← candidate.script)
    | .noProof detail => throwError detail
    | .notRun reason => throwError reason

-- What Aesop is stuck at goes to external provers.
#guard_msgs (drop info) in
example (p q r : Nat → Prop) (h : ∀ n, p n → q n) (k : ∀ n, q n → r n) (l : p 1) : r 1 ∧ q 1 := by
  hammer (mode := "aesop+auto") (premises := 0)

#guard_msgs (drop info) in
example (a b c : Nat) (h : Likes b a) (k : Likes b c) : Likes a c := by
  hammer (mode := "full") [likes_back, likes_through]

#guard_msgs (drop info) in
example (a b c : Nat) (h : Likes b a) (k : Likes b c) : Likes a c := by
  hammer (mode := "union") [likes_back, likes_through]

-- Premises come from the sidecar.
#guard_msgs (drop info) in
example (a b c : Nat) : a * (b + c) = a * c + a * b := by
  hammer

end LeanHammerExtLive.HammerLive
