/-
Copyright (c) 2026 The LeanHammerExt authors. All rights reserved.
Released under Apache 2.0 license as described in the file LICENSE.
Authors: The LeanHammerExt authors
-/
import LeanHammerExt.Bridge.Error
import LeanHammerExt.Bridge.Frames
import LeanHammerExt.Bridge.Poll
import LeanHammerExt.Bridge.Process
import LeanHammerExt.ContentHash
import LeanHammerExt.Doctor
import LeanHammerExt.Fallback
import LeanHammerExt.Find
import LeanHammerExt.Locate
import LeanHammerExt.ModuleTexts
import LeanHammerExt.Msgpack
import LeanHammerExt.Options
import LeanHammerExt.Premises
import LeanHammerExt.PremisesTactic
import LeanHammerExt.Project
import LeanHammerExt.Protocol
import LeanHammerExt.Registration
import LeanHammerExt.Select
import LeanHammerExt.Sidecar
import LeanHammerExt.Text
