/-
Copyright (c) 2026 The LeanHammerExt authors. All rights reserved.
Released under Apache 2.0 license as described in the file LICENSE.
Authors: The LeanHammerExt authors
-/
import LeanHammerExt.Background
import LeanHammerExt.Bridge.Error
import LeanHammerExt.Bridge.Frames
import LeanHammerExt.Bridge.Poll
import LeanHammerExt.Bridge.Process
import LeanHammerExt.ContentHash
import LeanHammerExt.Doctor
import LeanHammerExt.Engines.Aesop
import LeanHammerExt.Engines.Auto
import LeanHammerExt.Engines.Candidate
import LeanHammerExt.Engines.Combined
import LeanHammerExt.Engines.Duper
import LeanHammerExt.Engines.Exact
import LeanHammerExt.Engines.Grind
import LeanHammerExt.Engines.Problem
import LeanHammerExt.Engines.Simp
import LeanHammerExt.Engines.Translation
import LeanHammerExt.Engines.Trial
import LeanHammerExt.Fallback
import LeanHammerExt.Find
import LeanHammerExt.Hammer
import LeanHammerExt.Locate
import LeanHammerExt.Minimise
import LeanHammerExt.ModuleTexts
import LeanHammerExt.Msgpack
import LeanHammerExt.Options
import LeanHammerExt.Portfolio
import LeanHammerExt.Premises
import LeanHammerExt.PremisesTactic
import LeanHammerExt.Project
import LeanHammerExt.Protocol
import LeanHammerExt.Registration
import LeanHammerExt.Report
import LeanHammerExt.Select
import LeanHammerExt.Sidecar
import LeanHammerExt.Text
import LeanHammerExt.Try
