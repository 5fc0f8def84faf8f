/-
Copyright (c) 2026 The LeanHammerExt authors. All rights reserved.
Released under Apache 2.0 license as described in the file LICENSE.
Authors: The LeanHammerExt authors
-/
import Lean

/-!
# Options

Every `hammer.…` option of the plugin. Times are whole seconds, counts are numbers of premises. Options that the tactic
`hammer` also takes as `(name := value)` or `+name`/`-name` have the same last component here.

* `hammer.sidecar.*`: how the sidecar is reached.
* `hammer.premises`, `hammer.method`, …: how premises are chosen.
* `hammer.timeout`, `hammer.aesop`, …: what the tactic does with them.
* `hammer.find.*`: the command `#find`.
-/

namespace LeanHammerExt

/-! ## The sidecar -/

/-- Ask the sidecar for premises; when false, Lean's own library suggestions are used. -/
register_option hammer.sidecar.enabled : Bool := {
  defValue := true
  descr := "ask the sidecar for premises; when false, Lean's own library suggestions are used"
}

/--
Path of the `lean-sidecar` executable; when empty, the one that `lake exe sidecar` installed is used, else the first
one on PATH.
-/
register_option hammer.sidecar.command : String := {
  defValue := ""
  descr := "path of the `lean-sidecar` executable; when empty, the one that `lake exe sidecar` \
    installed is used, else the first one on PATH"
}

/--
Address of a running sidecar server, for example `"http://127.0.0.1:8321"`; when empty, the user's local server is
used and started if none runs.
-/
register_option hammer.sidecar.url : String := {
  defValue := ""
  descr := "address of a running sidecar server, for example \"http://127.0.0.1:8321\"; when empty, \
    the user's local server is used and started if none runs"
}

/-- Seconds that one request to the sidecar may take, the start of a local server included; 600 at most. -/
register_option hammer.sidecar.timeout : Nat := {
  defValue := 30
  descr := "seconds that one request to the sidecar may take, the start of a local server included; \
    600 at most"
}

/-! ## Premise selection -/

/-- Number of premises that are selected for a goal. -/
register_option hammer.premises : Nat := {
  defValue := 64
  descr := "number of premises that are selected for a goal"
}

/-- How the sidecar ranks premises: `"fused"`, `"neural"`, `"symbolic"` or `"locality"`. -/
register_option hammer.method : String := {
  defValue := "fused"
  descr := "how the sidecar ranks premises: \"fused\", \"neural\", \"symbolic\" or \"locality\""
}

/-- Let instances be premises. -/
register_option hammer.instances : Bool := {
  defValue := false
  descr := "let instances be premises"
}

/-- Most declarations of the current file that are offered as premises, the latest ones first. -/
register_option hammer.filePremises : Nat := {
  defValue := 2048
  descr := "most declarations of the current file that are offered as premises, the latest ones first"
}

/-- Most premises that are described to the sidecar from imported modules that its index does not know. -/
register_option hammer.newPremises : Nat := {
  defValue := 16384
  descr := "most premises that are described to the sidecar from imported modules that its index \
    does not know"
}

/-- Use Lean's own library suggestions when the sidecar cannot answer; when false, premise selection fails then. -/
register_option hammer.fallback : Bool := {
  defValue := true
  descr := "use Lean's own library suggestions when the sidecar cannot answer; when false, premise \
    selection fails then"
}

/-- Say once in a file that the sidecar could not answer and what can be done about it. -/
register_option hammer.notices : Bool := {
  defValue := true
  descr := "say once in a file that the sidecar could not answer and what can be done about it"
}

/-- Let the sidecar write down, on this machine only, which premises closed a goal. -/
register_option hammer.feedback : Bool := {
  defValue := false
  descr := "let the sidecar write down, on this machine only, which premises closed a goal"
}

/-! ## The tactic -/

/-- Seconds that `hammer` may take for selection, search and replay together; 0 means no limit. -/
register_option hammer.timeout : Nat := {
  defValue := 10
  descr := "seconds that `hammer` may take for selection, search and replay together; 0 means no limit"
}

/--
Which engines `hammer` runs: `""` for all that are switched on, `"aesop"` (premises as rules), `"auto"` (external
provers), `"aesop+auto"` (external provers on what Aesop leaves), `"full"` (the same with premises as rules), or
`"union"` (these four).
-/
register_option hammer.mode : String := {
  defValue := ""
  descr := "which engines `hammer` runs: \"\" for all that are switched on, \"aesop\" (premises as rules), \
    \"auto\" (external provers), \"aesop+auto\" (external provers on what Aesop leaves), \"full\" (the same \
    with premises as rules), or \"union\" (these four)"
}

/-- Run the engines of `hammer` at the same time. -/
register_option hammer.parallel : Bool := {
  defValue := true
  descr := "run the engines of `hammer` at the same time"
}

/-- Let `hammer` try `simp_all` and `simp` with the selected premises. -/
register_option hammer.simp : Bool := {
  defValue := true
  descr := "let `hammer` try `simp_all` and `simp` with the selected premises"
}

/-- Let `hammer` try short proofs: `rfl`, `assumption`, `omega`, `decide` and one selected premise. -/
register_option hammer.exact : Bool := {
  defValue := true
  descr := "let `hammer` try short proofs: `rfl`, `assumption`, `omega`, `decide` and one selected premise"
}

/-- Let `hammer` try `aesop` with the selected premises as rules. -/
register_option hammer.aesop : Bool := {
  defValue := true
  descr := "let `hammer` try `aesop` with the selected premises as rules"
}

/-- Let `hammer` ask external provers and rebuild their proof with `duper`. -/
register_option hammer.auto : Bool := {
  defValue := true
  descr := "let `hammer` ask external provers and rebuild their proof with `duper`"
}

/-- Let `hammer` try `duper` with the selected premises. -/
register_option hammer.duper : Bool := {
  defValue := true
  descr := "let `hammer` try `duper` with the selected premises"
}

/-- Let `hammer` try `grind` with the selected premises. -/
register_option hammer.grind : Bool := {
  defValue := true
  descr := "let `hammer` try `grind` with the selected premises"
}

/-- Number of selected premises that `simp` is given. -/
register_option hammer.simpPremises : Nat := {
  defValue := 16
  descr := "number of selected premises that `simp` is given"
}

/-- Number of selected premises that are tried one by one with `exact` and `apply`. -/
register_option hammer.exactPremises : Nat := {
  defValue := 32
  descr := "number of selected premises that are tried one by one with `exact` and `apply`"
}

/-- Number of selected premises that `aesop` is given. -/
register_option hammer.aesopPremises : Nat := {
  defValue := 32
  descr := "number of selected premises that `aesop` is given"
}

/-- Number of selected premises that external provers are given. -/
register_option hammer.autoPremises : Nat := {
  defValue := 32
  descr := "number of selected premises that external provers are given"
}

/-- Number of selected premises that `duper` is given. -/
register_option hammer.duperPremises : Nat := {
  defValue := 16
  descr := "number of selected premises that `duper` is given"
}

/-- Number of selected premises that `grind` is given. -/
register_option hammer.grindPremises : Nat := {
  defValue := 32
  descr := "number of selected premises that `grind` is given"
}

/-- External provers to ask, separated by commas; when empty, all that are installed. -/
register_option hammer.provers : String := {
  defValue := ""
  descr := "external provers to ask, separated by commas; when empty, all that are installed"
}

/-- Drop premises and hypotheses that the proof does not need. -/
register_option hammer.minimise : Bool := {
  defValue := true
  descr := "drop premises and hypotheses that the proof does not need"
}

/-- Seconds that may be spent on making the proof smaller, after it was found. -/
register_option hammer.minimiseTimeout : Nat := {
  defValue := 5
  descr := "seconds that may be spent on making the proof smaller, after it was found"
}

/-! ## Search -/

/-- Number of declarations that `#find` shows. -/
register_option hammer.find.results : Nat := {
  defValue := 10
  descr := "number of declarations that `#find` shows"
}

end LeanHammerExt
