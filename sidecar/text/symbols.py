"""The table of notation: which constant a printed symbol stands for, and which words spell it.

In: nothing. Out: `CONSTANTS_OF` (atom → constants), `SPELLED_CONSTANTS` (constants whose words are not the parts of
their name), `SPELLED_ATOMS` (atoms that stand for no constant) and `LETTERS` (letters outside ASCII). A symbol and its
constant are spelled by the same words because the words are only ever derived from the constant.
"""

from __future__ import annotations

import unicodedata
from typing import Final

_NOTATION: Final = """
= Eq
≠ Ne
≍ HEq
== BEq.beq
!= bne
↔ Iff
<-> Iff
∧ And
/\\ And
∨ Or
\\/ Or
¬ Not
∃ Exists
∃! ExistsUnique
&& Bool.and
|| Bool.or
^^ Bool.xor
! Bool.not
+ HAdd.hAdd
- HSub.hSub
[] List.nil
* HMul.hMul
/ HDiv.hDiv
÷ HDiv.hDiv
% HMod.hMod
^ HPow.hPow
• HSMul.hSMul
+ᵥ HVAdd.hVAdd
-ᵥ VSub.vsub
++ HAppend.hAppend
&&& HAnd.hAnd
||| HOr.hOr
^^^ HXor.hXor
~~~ Complement.complement
<<< HShiftLeft.hShiftLeft
>>> HShiftRight.hShiftRight
⁻¹ Inv.inv
⅟ Invertible.invOf
≤ LE.le
<= LE.le
< LT.lt
≥ GE.ge
>= GE.ge
> GT.gt
⋖ CovBy
⩿ WCovBy
∣ Dvd.dvd
∈ Membership.mem
∉ Not Membership.mem
∋ Membership.mem
⊆ HasSubset.Subset
⊂ HasSSubset.SSubset
⊇ Superset
⊃ SSuperset
∪ Union.union
∩ Inter.inter
\\ SDiff.sdiff
∆ symmDiff
ᶜ Compl.compl
∅ EmptyCollection.emptyCollection
𝒫 Set.powerset
'' Set.image
⁻¹' Set.preimage
×ˢ SProd.sprod
⋃ Set.iUnion
⋂ Set.iInter
⋃₀ Set.sUnion
⋂₀ Set.sInter
⊤ Top.top
⊥ Bot.bot
⊔ Max.max
⊓ Min.min
⨆ iSup
⨅ iInf
⇨ HImp.himp
⇔ bihimp
￢ HNot.hnot
⊼ HasInfs.infs
⊻ HasSups.sups
ℕ Nat
ℤ Int
ℚ Rat
ℝ Real
ℂ Complex
ℍ Quaternion
ℕ∞ ENat
ℕ+ PNat
ℚ≥0 NNRat
ℝ≥0 NNReal
ℝ≥0∞ ENNReal
ℝ* Hyperreal
ℤ√ Zsqrtd
ℤ_[ PadicInt
ℚ_[ Padic
ℂ_[ PadicComplex
ℵ Cardinal.aleph
ℵ₀ Cardinal.aleph0
ℶ Cardinal.beth
𝔠 Cardinal.continuum
× Prod
×' PProd
⊕ Sum
⊕' PSum
∘ Function.comp
∘' Function.dcomp
↪ Function.Embedding
≃ Equiv
≈ HasEquiv.Equiv
// Subtype
:: List.cons
<+: List.IsPrefix
<:+ List.IsSuffix
<:+: List.IsInfix
~r List.IsRotated
#[ List.toArray
#v[ Vector.mk
::ₘ Multiset.cons
::ᵥ List.Vector.cons
::ₛ Sym.cons
![ Matrix.vecCons
!![ Matrix.of
ᵀ Matrix.transpose
ᴴ Matrix.conjTranspose
⬝ᵥ dotProduct
⬝ Matrix.mul
<$> Functor.map
>>= Bind.bind
=<< Bind.bindLeft
>=> Bind.kleisliRight
<|> HOrElse.hOrElse
<*> Seq.seq
<&&> andM
<||> orM
▸ Eq.ndrec
∑ Finset.sum
∏ Finset.prod
∑ᶠ finsum
∏ᶠ finprod
∑' tsum
∏' tprod
∑'[ tsum
∏'[ tprod
∫ MeasureTheory.integral
∫⁻ MeasureTheory.lintegral
∫ᵛ MeasureTheory.VectorMeasure.integral
∫ᶜ curveIntegral
⨍ MeasureTheory.average
⨍⁻ MeasureTheory.laverage
∮ circleIntegral
∯ torusIntegral
‖ Norm.norm
‖₊ NNNorm.nnnorm
‖ₑ ENorm.enorm
√ Real.sqrt
⌊ Int.floor | Nat.floor
⌈ Int.ceil | Nat.ceil
⌋₊ Nat.floor
⌉₊ Nat.ceil
⌊/⌋ FloorDiv.floorDiv
⌈/⌉ CeilDiv.ceilDiv
⁺ PosPart.posPart
⁻ NegPart.negPart
⁺ᵐ OneLePart.oneLePart
⁻ᵐ LeOnePart.leOnePart
[MOD Nat.ModEq
[ZMOD Int.ModEq
[PMOD AddCommGroup.ModEq
[SMOD SModEq
∀ᶠ Filter.Eventually
∃ᶠ Filter.Frequently
∀ᵐ Filter.Eventually MeasureTheory.ae
∃ᵐ Filter.Frequently MeasureTheory.ae
=ᶠ[ Filter.EventuallyEq
≤ᶠ[ Filter.EventuallyLE
=ᵐ[ Filter.EventuallyEq MeasureTheory.ae
≤ᵐ[ Filter.EventuallyLE MeasureTheory.ae
𝓝 nhds
𝓝[ nhdsWithin
𝓝[≠] nhdsWithin
𝓤 uniformity
𝓟 Filter.principal
⤳ Specializes
≪ MeasureTheory.Measure.AbsolutelyContinuous
=O[ Asymptotics.IsBigO
=o[ Asymptotics.IsLittleO
=Θ[ Asymptotics.IsTheta
~[ Asymptotics.IsEquivalent
→* MonoidHom
→+ AddMonoidHom
→*₀ MonoidWithZeroHom
→+* RingHom
→+*o OrderRingHom
→+*ᵍ GradedRingHom
→+*[ MulSemiringActionHom
→ₙ* MulHom
→ₙ+ AddHom
→ₙ+* NonUnitalRingHom
→*[ MulDistribMulActionHom
→+[ DistribMulActionHom
→[ MulActionHom
→ₑ[ MulActionHom
→ₑ+[ DistribMulActionHom
→ₑ*[ MulDistribMulActionHom
→ₑ+*[ MulSemiringActionHom
→ₐ[ AlgHom
→ₙₐ[ NonUnitalAlgHom
→ₛₙₐ[ NonUnitalAlgHom
→ₐc[ BialgHom
→ₐᵍ[ GradedAlgHom
→⋆ₐ[ StarAlgHom
→⋆ₙₐ[ NonUnitalStarAlgHom
→⋆* StarMonoidHom
→⋆ₙ+* NonUnitalStarRingHom
→ₗ[ LinearMap
→ₗ⋆[ LinearMap
→ₛₗ[ LinearMap
→ₗ.[ LinearPMap
→ₛₗ.[ LinearPMap
→ₗc[ CoalgHom
→ₗ⁅ LieHom | LieModuleHom
→ₗᵢ[ LinearIsometry
→ₛₗᵢ[ LinearIsometry
→ₚ[ PositiveLinearMap
→ₚₗ[ PolynomialLaw
→L[ ContinuousLinearMap
→L⋆[ ContinuousLinearMap
→SL[ ContinuousLinearMap
→WOT[ ContinuousLinearMapWOT
→SWOT[ ContinuousLinearMapWOT
→SLₚₜ[ PointwiseConvergenceCLM
→Lₚₜ[ PointwiseConvergenceCLM
→A[ ContinuousAlgHom
→ᴬ[ ContinuousAffineMap
→ᵃ[ AffineMap
→ᵃⁱ[ AffineIsometry
→ᵈ Dilation
→ₘ[ MeasureTheory.AEEqFun
→₁ₛ[ MeasureTheory.Lp.simpleFunc
→₀ Finsupp
→ₜ* ContinuousMonoidHom
→ₜ+ ContinuousAddMonoidHom
→o OrderHom
→*o OrderMonoidHom
→*₀o OrderMonoidWithZeroHom
→+o OrderAddMonoidHom
→r RelHom
→g SimpleGraph.Hom
→. PFun
→ₛ MeasureTheory.SimpleFunc
→𝒄 OmegaCompletePartialOrder.ContinuousHom
→qᵢ QuadraticMap.Isometry
→bᵢ LinearMap.BilinForm.Isometry
→Co ContinuousOrderHom
→CO ContinuousOpenMap
→ᴸ FirstOrder.Language.LHom
]→L[ ContinuousMultilinearMap
]→ₗ[ AlternatingMap
[⋀^ AlternatingMap | ContinuousAlternatingMap
[× ContinuousMultilinearMap
C( ContinuousMap
[X] Polynomial
⟦X⟧ PowerSeries
[T;T⁻¹] LaurentPolynomial
≃* MulEquiv
≃+ AddEquiv
≃+* RingEquiv
≃*o OrderMonoidIso
≃+o OrderAddMonoidIso
≃+*o OrderRingIso
≃ₐ[ AlgEquiv
≃ₐc[ BialgEquiv
≃⋆ₐ[ StarAlgEquiv
≃⋆* StarMulEquiv
≃⋆+* StarRingEquiv
≃ₗ[ LinearEquiv
≃ₗ⋆[ LinearEquiv
≃ₛₗ[ LinearEquiv
≃ₗc[ CoalgEquiv
≃ₗ⁅ LieEquiv | LieModuleEquiv
≃ₗᵢ[ LinearIsometryEquiv
≃ₗᵢ⋆[ LinearIsometryEquiv
≃ₛₗᵢ[ LinearIsometryEquiv
≃L[ ContinuousLinearEquiv
≃SL[ ContinuousLinearEquiv
≃A[ ContinuousAlgEquiv
≃ᴬ[ ContinuousAffineEquiv
≃ᵃ[ AffineEquiv
≃ᵃⁱ[ AffineIsometryEquiv
≃ᵈ DilationEquiv
≃ᵢ IsometryEquiv
≃ₜ Homeomorph
≃ₜ* ContinuousMulEquiv
≃ₜ+ ContinuousAddEquiv
≃ᵐ MeasurableEquiv
≃ₘ Diffeomorph
≃ᵤ UniformEquiv
≃o OrderIso
≃r RelIso
≃g SimpleGraph.Iso
≃. PEquiv
≃ᴸ FirstOrder.Language.LEquiv
↪o OrderEmbedding
↪r RelEmbedding
↪g SimpleGraph.Embedding
≤i InitialSeg
<i PrincipalSeg
≤m Matroid.IsMinor
<m Matroid.IsStrictMinor
≤s Graph.IsSpanningSubgraph
∘ₗ LinearMap.comp
∘ₛₗ LinearMap.comp
∘SL ContinuousLinearMap.comp
∘L ContinuousLinearMap.comp
≪≫ₗ LinearEquiv.trans
Π₀ DFinsupp
⨁ DirectSum
⨂ PiTensorProduct
⨂ₜ[ PiTensorProduct.tprod
⊗ TensorProduct
⊗[ TensorProduct
⊗ₜ TensorProduct.tmul
⊗ₜ[ TensorProduct.tmul
ᵍ⊗ₜ[ GradedTensorProduct.tmul
⧸ HasQuotient.Quotient
⟮ IntermediateField.adjoin
⁅ Bracket.bracket
∙ Submodule.span
ᗮ Submodule.orthogonal
⟂ Submodule.IsOrtho
⟪ Inner.inner
⟫_[ Inner.inner
⟦ Quotient.mk
ᵒᵖ Opposite
ᵐᵒᵖ MulOpposite
ᵃᵒᵖ AddOpposite
ᴹᵒᵖ CategoryTheory.MonoidalOpposite
ᵒᵈ OrderDual
ᵈᵐᵃ DomMulAct
ᵈᵃᵃ DomAddAct
ˢʸᵐ SymAlg
ˣ Units
⁰ nonZeroDivisors
+ˢ HAdd.hAdd
^[ Nat.iterate
^< Cardinal.powerlt
%ₘ Polynomial.modByMonic
/ₘ Polynomial.divByMonic
/ₚ divp
/ₒ OreLocalization.oreDiv
-ₒ AddOreLocalization.oreSub
/ₛ SDiv.sdiv
∣_ Set.restrict
|ₘ mabs
≤ᵥ ValuativeRel.vle
<ᵥ ValuativeRel.vlt
=ᵥ ValuativeRel.veq
⋊[ SemidirectProduct
⋊ SemidirectProduct
≀ᵣ RegularWreathProduct
⊴ Subgroup.Normal
Ω[ KaehlerDifferential
⋀[ exteriorPower
s( Sym2.mk
↿ Function.HasUncurry.uncurry
↾ Set.restrict
✶ Matroid.dual
□ SimpleGraph.boxProd
⟶ Quiver.Hom
⟶[ CategoryTheory.EnrichedCategory.Hom
⥤ CategoryTheory.Functor
⥤q Prefunctor
⥤ₗ CategoryTheory.LeftExactFunctor
⥤ᵣ CategoryTheory.RightExactFunctor
⥤ₑ CategoryTheory.ExactFunctor
⥤+ CategoryTheory.AdditiveFunctor
≫ CategoryTheory.CategoryStruct.comp
𝟙 CategoryTheory.CategoryStruct.id
⋙ CategoryTheory.Functor.comp
⋙q Prefunctor.comp
𝟭 CategoryTheory.Functor.id
𝟭q Prefunctor.id
◫ CategoryTheory.NatTrans.hcomp
≅ CategoryTheory.Iso
≪≫ CategoryTheory.Iso.trans
≌ CategoryTheory.Equivalence
⊣ CategoryTheory.Adjunction
⊣₂ CategoryTheory.ParametrizedAdjunction
⨯ CategoryTheory.Limits.prod
⨿ CategoryTheory.Limits.coprod
∐ CategoryTheory.Limits.sigmaObj
∏ᶜ CategoryTheory.Limits.piObj
⊞ CategoryTheory.Limits.biprod
⊤_ CategoryTheory.Limits.terminal
⊥_ CategoryTheory.Limits.initial
◁ CategoryTheory.MonoidalCategoryStruct.whiskerLeft
▷ CategoryTheory.MonoidalCategoryStruct.whiskerRight
⊗ₘ CategoryTheory.MonoidalCategoryStruct.tensorHom
β_ CategoryTheory.BraidedCategory.braiding
η_ CategoryTheory.ExactPairing.coevaluation
ε_ CategoryTheory.ExactPairing.evaluation
λ_ CategoryTheory.MonoidalCategoryStruct.leftUnitor
ρ_ CategoryTheory.MonoidalCategoryStruct.rightUnitor
α_ CategoryTheory.MonoidalCategoryStruct.associator
ᘁ CategoryTheory.HasRightDual.rightDual
↘ CategoryTheory.over
⋔ CategoryTheory.Functor.obj
⊨ FirstOrder.Language.Theory.Model
⊨ᵇ FirstOrder.Language.Theory.ModelsBoundedFormula
⊢ₛ Std.Do.SPred.entails
⊣⊢ₛ Std.Do.SPred.bientails
⌜ Std.Do.SPred.pure
wp⟦ Std.Do.PredTrans.apply
⇑ DFunLike.coe
if ite
bif cond
GL Matrix.GeneralLinearGroup
GL( Matrix.GeneralLinearGroup
SL( Matrix.SpecialLinearGroup
≤₀ ManyOneReducible
≤₁ OneOneReducible
⊛ Stream'.apply
⋈ Stream'.interleave
++ₛ Stream'.appendStream'
"""
"""One atom a line, then the constants it stands for; readings that only types can tell apart are set off by `|`,
the likeliest first."""


PREFIX_MINUS: Final = "prefix -"
ABSOLUTE_VALUE: Final = "| |"
ELEMENT: Final = "term ["
"""Uses that the character alone does not tell; the spaces keep these keys apart from real atoms."""


def _readings() -> dict[str, tuple[tuple[str, ...], ...]]:
    table: dict[str, tuple[tuple[str, ...], ...]] = {}
    for line in _NOTATION.strip().splitlines():
        atom, rest = line.split(" ", 1)
        table[atom] = tuple(tuple(reading.split()) for reading in rest.split(" | "))
    table[PREFIX_MINUS] = (("Neg.neg",),)
    table[ABSOLUTE_VALUE] = (("abs",),)
    table[ELEMENT] = (("GetElem.getElem",), ("GetElem?.getElem?",))
    return table


READINGS: Final[dict[str, tuple[tuple[str, ...], ...]]] = _readings()
"""Printed atom → its readings, the likeliest first; a reading is the constants that the atom brings in."""

CONSTANTS_OF: Final[dict[str, tuple[str, ...]]] = {atom: readings[0] for atom, readings in READINGS.items()}
"""Printed atom → the constants of its likeliest reading: these give its words."""

SPELLED_CONSTANTS: Final[dict[str, str]] = {
    "HAdd.hAdd": "add",
    "HSub.hSub": "sub",
    "HMul.hMul": "mul",
    "HDiv.hDiv": "div",
    "HMod.hMod": "mod",
    "HPow.hPow": "pow",
    "HSMul.hSMul": "smul",
    "SMul.smul": "smul",
    "HVAdd.hVAdd": "vadd",
    "VAdd.vadd": "vadd",
    "VSub.vsub": "vsub",
    "HAppend.hAppend": "append",
    "HAnd.hAnd": "and",
    "HOr.hOr": "or",
    "HXor.hXor": "xor",
    "HShiftLeft.hShiftLeft": "shift left",
    "HShiftRight.hShiftRight": "shift right",
    "HOrElse.hOrElse": "or else",
    "HasSubset.Subset": "subset",
    "HasSSubset.SSubset": "ssubset",
    "EmptyCollection.emptyCollection": "empty",
    "SDiff.sdiff": "sdiff",
    "HImp.himp": "himp",
    "HNot.hnot": "hnot",
    "Membership.mem": "mem",
    "Singleton.singleton": "singleton",
    "Insert.insert": "insert",
    "SProd.sprod": "prod",
    "Max.max": "max sup",
    "Min.min": "min inf",
    "Function.comp": "comp",
    "Set.iUnion": "union",
    "Set.iInter": "inter",
    "Set.sUnion": "union",
    "Set.sInter": "inter",
    "iSup": "sup",
    "iInf": "inf",
    "SupSet.sSup": "sup",
    "InfSet.sInf": "inf",
    "HasEquiv.Equiv": "equiv",
    "HasQuotient.Quotient": "quotient",
    "NNNorm.nnnorm": "nnnorm",
    "ENorm.enorm": "enorm",
    "Quiver.Hom": "hom",
    "CategoryTheory.CategoryStruct.comp": "comp",
    "CategoryTheory.CategoryStruct.id": "id",
    "CategoryTheory.Iso": "iso",
    "CategoryTheory.Functor": "functor",
    "GetElem.getElem": "get elem",
    "GetElem?.getElem?": "get elem",
    "GetElem?.getElem!": "get elem",
    "OfNat.ofNat": "",
    "DFunLike.coe": "",
    "Prod.mk": "",
    "Subtype.mk": "",
    "Sigma.mk": "",
    "PSigma.mk": "",
    "Bool.true": "true",
    "Bool.false": "false",
}
"""Constants whose words are not the parts of their name: operator classes, and what notation does not show (none)."""

EXPORTED: Final[dict[str, str]] = {
    "compare": "Ord.compare",
    "decide": "Decidable.decide",
    "default": "Inhabited.default",
    "dist": "Dist.dist",
    "edist": "EDist.edist",
    "false": "Bool.false",
    "max": "Max.max",
    "min": "Min.min",
    "nndist": "NNDist.nndist",
    "nnnorm": "NNNorm.nnnorm",
    "none": "Option.none",
    "pure": "Pure.pure",
    "sInf": "InfSet.sInf",
    "sSup": "SupSet.sSup",
    "some": "Option.some",
    "star": "Star.star",
    "true": "Bool.true",
}
"""Names that libraries export from a namespace, so that they are printed short → the constants they are."""

SPELLED_ATOMS: Final[dict[str, str]] = {
    "∀": "forall",
    "≡": "",
    "→": "",
    "->": "",
    "<-": "",
    "=>": "",
    ":=": "",
    "|-": "",
    "..": "",
    "↑": "",
    "↥": "",
    "⁄": "",
    "←": "",
    "↦": "",
    "⟹": "",
    "⋯": "",
    "⊢": "",
    "λ": "",
    "Π": "pi",
    "Σ": "sigma",
    "∞": "infinity",
    "∂": "",
    "·": "",
    "⟨": "",
    "⟩": "",
    "⟧": "",
    "⟫": "",
    "⁆": "",
    "⟯": "",
    "⌋": "",
    "⌉": "",
    "⌝": "",
    "⦃": "",
    "⦄": "",
    "⦋": "",
    "⦌": "",
    "⸨": "",
    "⸩": "",
    "«": "",
    "»": "",
    "‹": "",
    "›": "",
    "†": "",
    "✝": "",
    "′": "",
    "‘": "",
    "’": "",
    "“": "",
    "”": "",
    "–": "",
    "—": "",
    "…": "",
}
"""Atoms that stand for no constant: binders, arrows of functions, closing brackets, typography."""

_GREEK: Final = (
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho sigma sigma tau upsilon "
    "phi chi psi omega"
)


def _letters() -> dict[str, str]:
    """Spell Greek, Hebrew, styled, sub- and superscript letters and digits: what compatibility decomposition yields."""
    letters: dict[str, str] = {}
    for offset, word in enumerate(_GREEK.split()):
        letters[chr(0x3B1 + offset)] = word
        if offset != 17:  # U+03A2 is not a letter
            letters[chr(0x391 + offset)] = word
    letters |= {"ϵ": "epsilon", "ϑ": "theta", "ϰ": "kappa", "ϕ": "phi", "ϖ": "pi", "ϱ": "rho", "ς": "sigma"}
    letters |= {"ℵ": "aleph", "ℶ": "beth", "ℷ": "gimel", "ℸ": "daleth", "ℓ": "l", "℘": "p", "ı": "i", "ß": "ss"}
    letters |= {"æ": "ae", "Æ": "ae", "œ": "oe", "Œ": "oe", "ø": "o", "Ø": "o", "ł": "l", "Ł": "l", "đ": "d", "Đ": "d"}
    blocks = (
        range(0xB2, 0xB4),
        range(0xB9, 0xBA),
        range(0x2B0, 0x2B9),
        range(0x1D2C, 0x1D6B),
        range(0x2070, 0x209D),
        range(0x2100, 0x2150),
        range(0x2C7C, 0x2C7E),
        range(0x1D400, 0x1D800),
        range(0xFF21, 0xFF5B),
    )
    for block in blocks:
        for point in block:
            plain = unicodedata.normalize("NFKD", chr(point))
            if plain != chr(point):
                spelled = " ".join(letters.get(character, character.lower()) for character in plain)
                if spelled.replace(" ", "").isascii() and spelled.replace(" ", "").isalnum():
                    letters.setdefault(chr(point), spelled.replace(" ", "") if len(plain) > 1 else spelled)
    return letters


LETTERS: Final[dict[str, str]] = _letters()
"""Letter or digit outside ASCII → its lower-case spelling (`α` → alpha, `₀` → 0, `𝒰` → u, `𝕜` → k)."""
