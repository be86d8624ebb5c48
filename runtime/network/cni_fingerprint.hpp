// The fingerprinter "plugins_cni": a node's CNI plugins as attributes, plugins.cni.version.<name>.
//
// May depend on: runtime/base, host.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "runtime/host/fingerprint/fingerprint.hpp"

namespace nomad::network {

/// The first word that is a version, "v1.1.1" in "CNI bridge plugin v1.1.1\nCNI protocol …".
std::optional<std::string> version_in(std::string_view text);

/// Runs each program of the configured directories without arguments, as Nomad does, several at a
/// time; what says no version within three seconds is passed over. What compiled ones have
/// said is kept in FingerprintOptions::cache_dir (program_answers.hpp). A directory that is not
/// there has no plugins.
host::NamedFingerprinter cni_plugins_fingerprinter();

}  // namespace nomad::network
