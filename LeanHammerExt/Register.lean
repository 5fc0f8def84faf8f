/-
Copyright (c) 2026 The LeanHammerExt authors. All rights reserved.
Released under Apache 2.0 license as described in the file LICENSE.
Authors: The LeanHammerExt authors
-/
-- Lean's default registers itself; imported here, it comes first, and what this module registers counts.
import Lean.LibrarySuggestions.Default
import LeanHammerExt.Select

/-!
# The sidecar as Lean's library suggestions

Importing this module makes the sidecar the selector behind `grind +suggestions`, `simp? +suggestions`, `simp_all? +suggestions`,
`suggestions` and `try?` in the importing file and in every file that imports it. The registration is global and the last
one wins, so nothing else in this library does it: `import LeanHammerExt` alone changes nobody's choice.
-/

set_library_suggestions LeanHammerExt.sidecarSelector
