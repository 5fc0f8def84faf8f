/-
Copyright (c) 2026 The LeanHammerExt authors. All rights reserved.
Released under Apache 2.0 license as described in the file LICENSE.
Authors: The LeanHammerExt authors
-/
import LeanHammerExt.Bridge.Frames

/-!
# The sidecar's methods

In: typed requests. Out: their parameters as MessagePack, and typed answers read from it. Names of fields are those of the
wire protocol; names of declarations and modules are strings here, as Lean prints them in full.
-/

namespace LeanHammerExt.Protocol

open Msgpack (Value)

/-- Number of the protocol that is spoken here; `status` says which one a server speaks. -/
def version : Nat := 1

/-! ## Limits

A server refuses what is over its limits. These are the ones that a user's options could exceed.
-/

/-- Most seconds that one request may take. -/
def longestTimeout : Nat := 600

/-- Most results of one request. -/
def mostResults : Nat := 4096

/-- Most premises that go along with one request. -/
def mostPremises : Nat := 16384

/-! ## Maps -/

/-- The entries of a map. -/
abbrev Entries : Type := Array (String × Value)

/-! ## Writing -/

/-- An array of strings. -/
def ofTexts (texts : Array String) : Value :=
  .array (texts.map Value.str)

/-- A natural number. -/
def ofNat (number : Nat) : Value :=
  .int (Int.ofNat number)

/-- Adds an entry where there is a text. -/
def withText (entries : Entries) (key : String) (text? : Option String) : Entries :=
  match text? with
  | some text => entries.push (key, .str text)
  | none => entries

/-! ## Reading -/

/-- The entries of a map. -/
def readEntries (place : String) (value : Value) : Except String Entries :=
  match value with
  | .map entries => .ok entries
  | other => .error s!"`{place}` is {other.kind}, not a map"

/-- The items of an array. -/
def readItems (place : String) (value : Value) : Except String (Array Value) :=
  match value with
  | .array items => .ok items
  | other => .error s!"`{place}` is {other.kind}, not an array"

/-- A text. -/
def readText (place : String) (value : Value) : Except String String :=
  match value with
  | .str text => .ok text
  | other => .error s!"`{place}` is {other.kind}, not a text"

/-- A number, whole or not. -/
def readNumber (place : String) (value : Value) : Except String Float :=
  match value with
  | .float number => .ok number
  | .int number => .ok (Float.ofInt number)
  | other => .error s!"`{place}` is {other.kind}, not a number"

/-- A natural number. -/
def readCount (place : String) (value : Value) : Except String Nat :=
  match value with
  | .int number =>
    if number < 0 then
      .error s!"`{place}` is {number}, which is negative"
    else
      .ok number.toNat
  | other => .error s!"`{place}` is {other.kind}, not a whole number"

/-- A truth value. -/
def readFlag (place : String) (value : Value) : Except String Bool :=
  match value with
  | .bool flag => .ok flag
  | other => .error s!"`{place}` is {other.kind}, not a truth value"

/-- An entry that has to be there. -/
def requiredOf (entries : Entries) (key : String) : Except String Value :=
  match Bridge.entry? entries key with
  | some value => .ok value
  | none => .error s!"`{key}` is missing"

/-- An entry that may be missing or nil. -/
def optionalOf {α : Type} (entries : Entries) (key : String)
    (read : String → Value → Except String α) : Except String (Option α) :=
  match Bridge.entry? entries key with
  | none => .ok none
  | some .nil => .ok none
  | some value => do
    let result : α ← read key value
    return some result

/-- A text that has to be there. -/
def textOf (entries : Entries) (key : String) : Except String String := do
  let value : Value ← requiredOf entries key
  readText key value

/-- A number that has to be there. -/
def numberOf (entries : Entries) (key : String) : Except String Float := do
  let value : Value ← requiredOf entries key
  readNumber key value

/-- A list whose items are all read in the same way; missing or nil is empty. -/
def listOf {α : Type} (entries : Entries) (key : String)
    (read : String → Value → Except String α) : Except String (Array α) := do
  match ← optionalOf entries key readItems with
  | none => return #[]
  | some items =>
    let mut result : Array α := #[]
    for item in items do
      let value : α ← read key item
      result := result.push value
    return result

/-- Reads an answer; a failure to read becomes a typed one. -/
def readAnswer {α : Type} (read : Entries → Except String α) (answer : Bridge.Answer) :
    Except SidecarError α :=
  match answer with
  | .error error => .error error
  | .ok value =>
    match readEntries "result" value with
    | .error detail => .error (Bridge.misunderstood detail)
    | .ok entries =>
      match read entries with
      | .error detail => .error (Bridge.misunderstood detail)
      | .ok result => .ok result

/-! ## Notices -/

/-- Something that the sidecar wants the user to know although it answered. -/
structure Notice where
  /-- The kind of notice, for programs. -/
  code : String
  /-- The notice, for people. -/
  message : String
deriving Inhabited, BEq, Repr

/-- Reads one notice. -/
def readNotice (place : String) (value : Value) : Except String Notice := do
  let entries : Entries ← readEntries place value
  let code : String ← textOf entries "code"
  let message : String ← textOf entries "message"
  return { code := code, message := message }

/-! ## `status` -/

/-- What a server says about itself. -/
structure Status where
  /-- Version of the sidecar. -/
  version : String
  /-- Number of the wire protocol; 0 where the server does not say. -/
  protocol : Nat
  /-- Revision of the index that is served. -/
  revision : String
  /-- Whether the index is the small example library that comes with the sidecar. -/
  isExample : Bool
  /-- Number of declarations in the index. -/
  declarations : Nat
  /-- Source revisions that the index was made from: package and commit. -/
  revisions : Array (String × String)
  /-- Name of the encoder. -/
  encoder : String
  /-- Provers that can be asked. -/
  provers : Array String
deriving Inhabited, Repr

/-- A text, or the `name` of a map. -/
def readNamed (place : String) (value : Value) : Except String String :=
  match value with
  | .str text => .ok text
  | .map entries => textOf entries "name"
  | other => .error s!"`{place}` is {other.kind}, not a name"

/-- A map from texts to texts. -/
def readTexts (place : String) (value : Value) : Except String (Array (String × String)) := do
  let entries : Entries ← readEntries place value
  let mut result : Array (String × String) := #[]
  for entry in entries do
    let text : String ← readText entry.1 entry.2
    result := result.push (entry.1, text)
  return result

/-- Reads the answer to `status`. -/
def Status.read (entries : Entries) : Except String Status := do
  let version : String ← textOf entries "version"
  let protocol? : Option Nat ← optionalOf entries "protocol" readCount
  let revision? : Option String ← optionalOf entries "revision" readText
  let index? : Option Entries ← optionalOf entries "index" readEntries
  let index : Entries := index?.getD #[]
  let isExample? : Option Bool ← optionalOf index "example" readFlag
  let declarations? : Option Nat ← optionalOf index "declarations" readCount
  let revisions? : Option (Array (String × String)) ← optionalOf index "revisions" readTexts
  let encoder? : Option String ← optionalOf entries "encoder" readNamed
  let provers : Array String ← listOf entries "provers" readNamed
  return {
    version := version
    protocol := protocol?.getD 0
    revision := revision?.getD ""
    isExample := isExample?.getD false
    declarations := declarations?.getD 0
    revisions := revisions?.getD #[]
    encoder := encoder?.getD ""
    provers := provers
  }

/-! ## `environment` -/

/-- A premise that is described to the sidecar. -/
structure DescribedPremise where
  /-- Its full name. -/
  name : String
  /-- Its wire text. -/
  text : String
  /-- Constants of its statement, those of the conclusion first. -/
  constants : Array String
  /-- The module that declares it; empty for the current file. -/
  moduleName : String := ""
  /-- Content hash of name and text. -/
  hash : String := ""
deriving Inhabited, BEq, Repr

/-- The map that describes a premise. -/
def DescribedPremise.toValue (premise : DescribedPremise) (withHash : Bool) : Value :=
  let entries : Entries := #[
    ("name", .str premise.name),
    ("text", .str premise.text),
    ("constants", ofTexts premise.constants)
  ]
  let entries : Entries :=
    if premise.moduleName == "" then entries
    else entries.push ("module", .str premise.moduleName)
  let entries : Entries :=
    if withHash then entries.push ("hash", .str premise.hash) else entries
  .map entries

/-- A module that the index does not know, by the content hashes of its premises. -/
structure UnknownModule where
  /-- Its name. -/
  name : String
  /-- The content hashes of its premises. -/
  hashes : Array String
deriving Inhabited, BEq, Repr

/-- What a Lean process can see. -/
structure EnvironmentRequest where
  /-- Imported modules. -/
  imports : Array String
  /-- Imported modules that the index does not know. -/
  modules : Array UnknownModule := #[]
  /-- Premises whose texts the sidecar asked for. -/
  premises : Array DescribedPremise := #[]
deriving Inhabited

/-- The parameters of `environment`. -/
def EnvironmentRequest.params (request : EnvironmentRequest) : Entries :=
  let describe (unknown : UnknownModule) : Value :=
    .map #[("module", .str unknown.name), ("hashes", ofTexts unknown.hashes)]
  let entries : Entries := #[("imports", ofTexts request.imports)]
  let entries : Entries :=
    if request.modules.isEmpty then entries
    else entries.push ("modules", .array (request.modules.map describe))
  if request.premises.isEmpty then entries
  else entries.push ("premises", .array (request.premises.map (·.toValue true)))

/-- What the sidecar says about an environment. -/
structure EnvironmentAnswer where
  /-- The name of the environment in later requests. -/
  environment : String
  /-- Content hashes of the premises whose texts it has never seen. -/
  missing : Array String
  /-- Imported modules that the index does not know and that were not described. -/
  unknownModules : Array String
  /-- Revision of the index. -/
  revision : String
deriving Inhabited, Repr

/-- Reads the answer to `environment`. -/
def EnvironmentAnswer.read (entries : Entries) : Except String EnvironmentAnswer := do
  let environment : String ← textOf entries "environment"
  let missing : Array String ← listOf entries "missing" readText
  let unknownModules : Array String ← listOf entries "unknown_modules" readText
  let revision? : Option String ← optionalOf entries "revision" readText
  return {
    environment := environment
    missing := missing
    unknownModules := unknownModules
    revision := revision?.getD ""
  }

/-! ## `premises` -/

/-- A goal for which premises are wanted. -/
structure PremisesRequest where
  /-- Its text. -/
  goal : String
  /-- How many premises. -/
  count : Nat
  /-- The environment. -/
  environment : String
  /-- Premises of the current file. -/
  premises : Array DescribedPremise := #[]
  /-- Constants of the goal, those of the target first. -/
  symbols : Array String := #[]
  /-- The theorem that is being proved. -/
  theoremName? : Option String := none
  /-- The module that is being elaborated. -/
  moduleName? : Option String := none
  /-- The namespace at the goal. -/
  namespaceName? : Option String := none
  /-- Names that are not wanted. -/
  exclude : Array String := #[]
  /-- How premises are ranked. -/
  method : String := "fused"
deriving Inhabited

/-- The parameters of `premises`. -/
def PremisesRequest.params (request : PremisesRequest) : Entries :=
  let entries : Entries := #[
    ("goal", .str request.goal),
    ("k", ofNat request.count),
    ("environment", .str request.environment),
    ("method", .str request.method)
  ]
  let entries : Entries :=
    if request.premises.isEmpty then entries
    else entries.push ("premises", .array (request.premises.map (·.toValue false)))
  let entries : Entries :=
    if request.symbols.isEmpty then entries
    else entries.push ("symbols", ofTexts request.symbols)
  let entries : Entries :=
    if request.exclude.isEmpty then entries
    else entries.push ("exclude", ofTexts request.exclude)
  let entries : Entries := withText entries "theorem" request.theoremName?
  let entries : Entries := withText entries "module" request.moduleName?
  withText entries "namespace" request.namespaceName?

/-- A premise that the sidecar chose. -/
structure RankedPremise where
  /-- Its full name. -/
  name : String
  /-- Its score; larger is better. -/
  score : Float
  /-- Where it comes from: `"index"`, `"environment"` or `"file"`. -/
  origin : String
  /-- Rank by each method that found it. -/
  ranks : Array (String × Nat)
deriving Inhabited, Repr

/-- Reads a map of ranks. -/
def readRanks (place : String) (value : Value) : Except String (Array (String × Nat)) := do
  let entries : Entries ← readEntries place value
  let mut result : Array (String × Nat) := #[]
  for entry in entries do
    let rank : Nat ← readCount entry.1 entry.2
    result := result.push (entry.1, rank)
  return result

/-- Reads one premise. -/
def readRankedPremise (place : String) (value : Value) : Except String RankedPremise := do
  let entries : Entries ← readEntries place value
  let name : String ← textOf entries "name"
  let score : Float ← numberOf entries "score"
  let origin? : Option String ← optionalOf entries "origin" readText
  let ranks? : Option (Array (String × Nat)) ← optionalOf entries "ranks" readRanks
  return {
    name := name
    score := score
    origin := origin?.getD "index"
    ranks := ranks?.getD #[]
  }

/-- Reads a map of milliseconds. -/
def readTimings (place : String) (value : Value) : Except String (Array (String × Float)) := do
  let entries : Entries ← readEntries place value
  let mut result : Array (String × Float) := #[]
  for entry in entries do
    let milliseconds : Float ← readNumber entry.1 entry.2
    result := result.push (entry.1, milliseconds)
  return result

/-- The chosen premises, best first. -/
structure PremisesAnswer where
  /-- The premises. -/
  premises : Array RankedPremise
  /-- What the user should know. -/
  notices : Array Notice
  /-- Number of declarations among which was chosen. -/
  visible : Nat
  /-- Milliseconds by stage. -/
  timings : Array (String × Float)
deriving Inhabited, Repr

/-- Reads the answer to `premises`. -/
def PremisesAnswer.read (entries : Entries) : Except String PremisesAnswer := do
  let premises : Array RankedPremise ← listOf entries "premises" readRankedPremise
  let notices : Array Notice ← listOf entries "warnings" readNotice
  let visible? : Option Nat ← optionalOf entries "visible" readCount
  let timings? : Option (Array (String × Float)) ← optionalOf entries "timings" readTimings
  return {
    premises := premises
    notices := notices
    visible := visible?.getD 0
    timings := timings?.getD #[]
  }

/-! ## `search` -/

/-- A question to the search engine. -/
structure SearchRequest where
  /-- The question: words, a name, a formula. -/
  query : String
  /-- How many declarations. -/
  count : Nat
  /-- Prefixes of module names, by whole component; empty for all. -/
  modules : Array String := #[]
  /-- Kinds of declarations; empty for all. -/
  kinds : Array String := #[]
  /-- Imported modules; only what they bring into scope is shown. -/
  imports : Array String := #[]
deriving Inhabited

/-- The parameters of `search`. -/
def SearchRequest.params (request : SearchRequest) : Entries :=
  let entries : Entries := #[("query", .str request.query), ("k", ofNat request.count)]
  let entries : Entries :=
    if request.modules.isEmpty then entries
    else entries.push ("modules", ofTexts request.modules)
  let entries : Entries :=
    if request.kinds.isEmpty then entries
    else entries.push ("kinds", ofTexts request.kinds)
  if request.imports.isEmpty then entries
  else entries.push ("imports", ofTexts request.imports)

/-- A declaration that was found. -/
structure SearchResult where
  /-- Its full name. -/
  name : String
  /-- Its kind. -/
  kind : String
  /-- The module that declares it. -/
  moduleName : String
  /-- Its statement as a person reads it. -/
  signature : String
  /-- Its docstring. -/
  docstring : String
  /-- Its page in the documentation. -/
  link? : Option String
deriving Inhabited, Repr

/-- Reads one declaration. -/
def readSearchResult (place : String) (value : Value) : Except String SearchResult := do
  let entries : Entries ← readEntries place value
  let name : String ← textOf entries "name"
  let kind : String ← textOf entries "kind"
  let moduleName? : Option String ← optionalOf entries "module" readText
  let signature? : Option String ← optionalOf entries "signature" readText
  let docstring? : Option String ← optionalOf entries "docstring" readText
  let link? : Option String ← optionalOf entries "link" readText
  return {
    name := name
    kind := kind
    moduleName := moduleName?.getD ""
    signature := signature?.getD ""
    docstring := docstring?.getD ""
    link? := link?
  }

/-- The declarations that were found, best first. -/
structure SearchAnswer where
  /-- The declarations. -/
  results : Array SearchResult
  /-- The question as it was asked in the end, where it was rewritten. -/
  rewritten? : Option String
  /-- What the user should know. -/
  notices : Array Notice
deriving Inhabited, Repr

/-- Reads the answer to `search`. -/
def SearchAnswer.read (entries : Entries) : Except String SearchAnswer := do
  let results : Array SearchResult ← listOf entries "results" readSearchResult
  let rewritten? : Option String ← optionalOf entries "rewritten" readText
  let notices : Array Notice ← listOf entries "warnings" readNotice
  return { results := results, rewritten? := rewritten?, notices := notices }

/-! ## `embed` -/

/-- The parameters of `embed`; `purpose` is `"goal"`, `"question"` or `"declaration"`. -/
def embedParams (texts : Array String) (purpose : String) : Entries :=
  #[("texts", ofTexts texts), ("purpose", .str purpose)]

/-- Vectors of texts, one after the other. -/
structure EmbedAnswer where
  /-- All components. -/
  components : Array Float
  /-- Length of one vector. -/
  dimension : Nat
  /-- What the vectors were made with. -/
  fingerprint : String
deriving Inhabited, Repr

/-- Reads 32-bit floating-point numbers, the least significant byte first. -/
def readFloats (bytes : ByteArray) : Array Float := Id.run do
  let mut result : Array Float := #[]
  for i in [0:bytes.size / 4] do
    let byte (j : Nat) : Nat := (bytes.get! (4 * i + j)).toNat
    let bits : Nat := byte 0 + 256 * byte 1 + 65536 * byte 2 + 16777216 * byte 3
    result := result.push (Float32.ofBits bits.toUInt32).toFloat
  return result

/-- Reads the answer to `embed`. -/
def EmbedAnswer.read (entries : Entries) : Except String EmbedAnswer := do
  let vectors : Value ← requiredOf entries "vectors"
  let dimensionValue : Value ← requiredOf entries "dimension"
  let dimension : Nat ← readCount "dimension" dimensionValue
  let fingerprint? : Option String ← optionalOf entries "fingerprint" readText
  match vectors with
  | .bin bytes =>
    return {
      components := readFloats bytes
      dimension := dimension
      fingerprint := fingerprint?.getD ""
    }
  | other => throw s!"`vectors` is {other.kind}, not bytes"

/-! ## `prove` -/

/-- The parameters of `prove`: a problem in TPTP syntax and the provers to ask, none for all. -/
def proveParams (problem : String) (provers : Array String) : Entries :=
  let entries : Entries := #[("problem", .str problem)]
  if provers.isEmpty then entries else entries.push ("provers", ofTexts provers)

/-- How one prover fared. -/
structure ProverRun where
  /-- Its name. -/
  name : String
  /-- What it ended with. -/
  status : String
  /-- How long it ran. -/
  milliseconds : Nat
  /-- What it complained about, when it ended with an error. -/
  detail? : Option String
deriving Inhabited, BEq, Repr

/-- Reads how one prover fared. -/
def readProverRun (place : String) (value : Value) : Except String ProverRun := do
  let entries : Entries ← readEntries place value
  let name : String ← textOf entries "name"
  let status : String ← textOf entries "status"
  let milliseconds : Float ← numberOf entries "milliseconds"
  let detail? : Option String ← optionalOf entries "detail" readText
  return {
    name := name
    status := status
    milliseconds := milliseconds.toUInt64.toNat
    detail? := detail?
  }

/-- What the provers found. -/
structure ProveAnswer where
  /-- `"theorem"`, `"counter_satisfiable"`, `"timeout"`, `"gave_up"` or `"no_prover"`. -/
  status : String
  /-- The prover that was first. -/
  prover? : Option String
  /-- Names of the axioms that its proof uses. -/
  used : Array String
  /-- Whether `used` was read from a proof; else it names every axiom of the problem. -/
  usedIsExact : Bool
  /-- How each prover fared. -/
  runs : Array ProverRun
deriving Inhabited, Repr

/-- Reads the answer to `prove`. -/
def ProveAnswer.read (entries : Entries) : Except String ProveAnswer := do
  let status : String ← textOf entries "status"
  let prover? : Option String ← optionalOf entries "prover" readText
  let used : Array String ← listOf entries "used" readText
  let usedFrom? : Option String ← optionalOf entries "used_from" readText
  let runs : Array ProverRun ← listOf entries "provers" readProverRun
  return {
    status := status
    prover? := prover?
    used := used
    usedIsExact := usedFrom? == some "proof"
    runs := runs
  }

/-! ## `feedback` -/

/-- The parameters of `feedback`: which premises closed a goal, and the tactic that did. -/
def feedbackParams (goal : String) (premises : Array String) (tactic? : Option String) : Entries :=
  withText #[("goal", .str goal), ("premises", ofTexts premises)] "tactic" tactic?

end LeanHammerExt.Protocol
