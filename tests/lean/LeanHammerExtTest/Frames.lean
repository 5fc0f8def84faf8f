/-
Copyright (c) 2026 The LeanHammerExt authors. All rights reserved.
Released under Apache 2.0 license as described in the file LICENSE.
Authors: The LeanHammerExt authors
-/
import LeanHammerExt.Bridge.Frames
import LeanHammerExt.ContentHash
import LeanHammerExt.Protocol
import LeanHammerExtTest.Notation

/-!
# Requests and answers against the golden frames

Typed requests are written as exactly the frames that the file names, which the tests of the sidecar send through a real
bridge to a real server; its answers are read back as typed ones.
-/

namespace LeanHammerExtTest.FramesTest

open Lean (Json)
open LeanHammerExt LeanHammerExt.Protocol

/-- The golden file. -/
def golden : String := include_str ".."/".."/"golden"/"bridge"/"frames.json"

/-- The rows of one half of the file. -/
def rowsOf (half : String) : Except String (Array Json) := do
  let document : Json ← Json.parse golden
  document.getObjValAs? (Array Json) half

/-- The row with a name. -/
def rowOf (half name : String) : Except String Json := do
  for row in ← rowsOf half do
    let found : String ← row.getObjValAs? String "name"
    if found == name then
      return row
  throw s!"the golden file has no row '{name}'"

/-! ## Requests -/

/-- Compares typed parameters and the deadline with the frame of a row. -/
def checkRequest (name method : String) (params : Entries) (deadline : Nat) : Except String Unit := do
  let row : Json ← rowOf "requests" name
  let id : Nat ← row.getObjValAs? Nat "id"
  let expected : String ← row.getObjValAs? String "frame"
  let body : Msgpack.Value := .map (params.push ("deadline_ms", ofNat deadline))
  match Bridge.requestFrame id method body with
  | .error fault => throw s!"{name}: {fault}"
  | .ok bytes => check (toHex bytes == expected) s!"{name} is written as other bytes"

/-- The goal of the golden file. -/
def goal : String :=
  "n m : Nat\nh : @LT.lt.{0} Nat instLTNat n m\n⊢ @Eq.{1} Nat (HAdd.hAdd n m) (HAdd.hAdd m n)"

/-- The premise of the golden file. -/
def described : DescribedPremise where
  name := "Demo.double_eq"
  text := "/-- Twice a number. -/\ntheorem Demo.double_eq (n : Nat) : Eq (Demo.double n) (HAdd.hAdd n n)"
  constants := #["Eq", "Demo.double", "HAdd.hAdd", "Nat"]

/-- The same premise in a module that the index does not know. -/
def elsewhere : DescribedPremise :=
  { described with
    moduleName := "Demo.Basic"
    hash := contentHash described.name described.text }

/-- The module that the index does not know. -/
def unknown : UnknownModule where
  name := "Demo.Basic"
  hashes := #[elsewhere.hash]

/-- The problem of the golden file. -/
def problem : String :=
  "thf(man_type, type, man: $i > $o).\nthf(mortal_type, type, mortal: $i > $o).\nthf(s_type, type, s: $i).\n\
  thf(fact0, axiom, ![X: $i]: ((man @ X) => (mortal @ X))).\nthf(fact1, axiom, man @ s).\n\
  thf(goal, conjecture, mortal @ s).\n"

/-- All requests. -/
def checkRequests : Except String Unit := do
  let imports : Array String := #["Init", "Demo.Basic"]
  checkRequest "status" "status" #[] 5000
  let first : EnvironmentRequest := { imports := imports }
  checkRequest "environment, first" "environment" first.params 10000
  let hashed : EnvironmentRequest := { imports := imports, modules := #[unknown] }
  checkRequest "environment, with the hashes of a module that the index does not know" "environment"
    hashed.params 10000
  let texts : EnvironmentRequest :=
    { imports := imports, modules := #[unknown], premises := #[elsewhere] }
  checkRequest "environment, with the texts that were missing" "environment" texts.params 10000
  let everything : PremisesRequest := {
    goal := goal
    count := 32
    environment := "ENVIRONMENT"
    premises := #[{ described with name := "Demo.local" }]
    symbols := #["Eq", "HAdd.hAdd", "Nat", "LT.lt"]
    theoremName? := some "Demo.goal"
    moduleName? := some "Demo.Main"
    namespaceName? := some "Demo"
    exclude := #["Demo.bad"]
  }
  checkRequest "premises, with everything" "premises" everything.params 10000
  let least : PremisesRequest :=
    { goal := "⊢ True", count := 1, environment := "ENVIRONMENT", method := "symbolic" }
  checkRequest "premises, with the least" "premises" least.params 10000
  let short : SearchRequest := { query := "inv₀", count := 10 }
  checkRequest "search, with the least" "search" short.params 10000
  let long : SearchRequest := {
    query := "addition of natural numbers is commutative"
    count := 5
    modules := #["Init"]
    kinds := #["theorem", "def"]
    imports := #["Init"]
  }
  checkRequest "search, with everything" "search" long.params 10000
  checkRequest "embed" "embed" (embedParams #["⊢ True", ""] "goal") 10000
  checkRequest "prove" "prove" (proveParams problem #[]) 10000
  checkRequest "prove, with one prover" "prove" (proveParams problem #["e"]) 10000
  checkRequest "feedback" "feedback"
    (feedbackParams goal #["Nat.add_comm"] (some "simp [Nat.add_comm]")) 1000
  checkRequest "feedback, without a tactic" "feedback" (feedbackParams goal #[] none) 1000
  let row : Json ← rowOf "requests" "cancel"
  let id : Nat ← row.getObjValAs? Nat "id"
  let expected : String ← row.getObjValAs? String "frame"
  match Bridge.cancelFrame id with
  | .error fault => throw s!"cancel: {fault}"
  | .ok bytes => check (toHex bytes == expected) "cancel is written as other bytes"

#eval runTest checkRequests

/-! ## Answers -/

/-- The answer of a row, read from its frame. -/
def answerOf (name : String) : Except String Bridge.Answer := do
  let row : Json ← rowOf "answers" name
  let id : Nat ← row.getObjValAs? Nat "id"
  let bytes : ByteArray ← ofHex (← row.getObjValAs? String "frame")
  match Bridge.parseAnswer (bytes.extract 4 bytes.size) with
  | .error error => throw s!"{name}: {error.render}"
  | .ok (found, answer) =>
    check (found == id) s!"{name} is taken for the answer to {found}"
    return answer

/-- A typed answer. -/
def typed {α : Type} (name : String) (read : Entries → Except String α) : Except String α := do
  match readAnswer read (← answerOf name) with
  | .error error => throw s!"{name}: {error.render}"
  | .ok result => return result

/-- All answers. -/
def checkAnswers : Except String Unit := do
  let status : Status ← typed "status" Status.read
  check (status.version == "0.1.0" && status.protocol == Protocol.version && status.revision == "5ca1ab1e")
    "status: who answers"
  check (status.declarations == 300000 && !status.isExample && status.encoder == "small")
    "status: what it serves"
  check (status.revisions == #[("mathlib", "0123456789abcdef0123456789abcdef01234567")])
    "status: what the index was made from"
  check (status.provers == #["e"]) "status: provers"
  let environment : EnvironmentAnswer ← typed "environment" EnvironmentAnswer.read
  check (environment.environment == "6b1e5c0d" && environment.missing == #["00112233445566ff"]
    && environment.unknownModules == #["Demo.Other"]) "environment"
  let premises : PremisesAnswer ← typed "premises" PremisesAnswer.read
  let names : Array String := premises.premises.map fun (premise : RankedPremise) => premise.name
  check (names == #["Nat.add_comm", "Demo.«a.b»"]) "premises: names"
  check (premises.premises[0]!.ranks == #[("neural", 1), ("symbolic", 2)]) "premises: ranks"
  check (premises.premises[1]!.origin == "file") "premises: origin"
  let notice : Notice := { code := "unknown_modules", message := "the index does not know Demo.Other" }
  check (premises.notices == #[notice]) "premises: notices"
  check (premises.visible == 150000) "premises: visible"
  let nothing : PremisesAnswer ← typed "premises, none" PremisesAnswer.read
  check nothing.premises.isEmpty "premises, none"
  let search : SearchAnswer ← typed "search" SearchAnswer.read
  check (search.results.size == 1 && search.rewritten?.isNone) "search"
  check (search.results[0]!.name == "Nat.add_comm" && search.results[0]!.link?.isNone) "search: result"
  let embed : EmbedAnswer ← typed "embed" EmbedAnswer.read
  check (embed.dimension == 2 && embed.components == #[1.0, 0.0, 0.5, -0.25]) "embed"
  let prove : ProveAnswer ← typed "prove" ProveAnswer.read
  check (prove.status == "theorem" && prove.prover? == some "e" && prove.used == #["fact0", "fact1"]
    && prove.usedIsExact) "prove"
  check (prove.runs[1]!.detail? == some "invalid option") "prove: runs"
  let nobody : ProveAnswer ← typed "prove, no prover" ProveAnswer.read
  check (nobody.status == "no_prover" && nobody.prover?.isNone && nobody.runs.isEmpty) "prove, no prover"
  match ← answerOf "an error with everything" with
  | .ok _ => throw "an error is read as a result"
  | .error error =>
    check (error.kind == .refused && error.code == "overloaded" && error.field? == some "texts[3]"
      && error.hint? == some "try again later") "an error with everything"
    check (error.render == "texts[3]: 512 requests wait for the model already — try again later")
      "an error as people see it"
  match ← answerOf "an error with the least" with
  | .ok _ => throw "an error is read as a result"
  | .error error => check (error.code == "cancelled" && error.hint?.isNone) "an error with the least"

#eval runTest checkAnswers

/-! ## Answers that are none -/

/-- What becomes of a message. -/
def parsed (value : Msgpack.Value) : String :=
  match Msgpack.encode value with
  | .error fault => toString fault
  | .ok bytes =>
    match Bridge.parseAnswer bytes with
    | .error error => error.message
    | .ok (id, .ok _) => s!"{id}: a result"
    | .ok (id, .error error) => s!"{id}: {error.message}"

#guard parsed (.map #[("id", .int 7), ("result", .nil)]) == "7: a result"
#guard parsed (.map #[("id", .int 7)]) == "7: the sidecar's answer cannot be read: neither result nor error"
#guard parsed (.map #[("result", .nil)]) == "the sidecar's answer cannot be read: there is no id"
#guard parsed (.array #[]) == "the sidecar's answer cannot be read: it is an array, not a map"
#guard parsed (.map #[("id", .nil), ("error", .map #[("code", .str "bad_request"), ("message", .str "no")])])
  == "no"

/-- What a typed reader says to a result that is not what it expects. -/
def misread (value : Msgpack.Value) : String :=
  match readAnswer PremisesAnswer.read (.ok value) with
  | .error error => error.message
  | .ok _ => "read"

#guard misread (.map #[]) == "read"
#guard misread (.array #[]) == "the sidecar's answer cannot be read: `result` is an array, not a map"
#guard misread (.map #[("premises", .array #[.map #[("name", .int 1)]])])
  == "the sidecar's answer cannot be read: `name` is a whole number, not a text"

end LeanHammerExtTest.FramesTest
