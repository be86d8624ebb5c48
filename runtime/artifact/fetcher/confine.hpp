// What nomadctl-artifact may do once it knows its order: as little as fetching takes.
//
// In this order: the working directory becomes /tmp in a mount namespace of its own (root alone);
// limits of resources; no new privileges; Landlock, by which of the host's files only those are
// left that programs and name services need; the user and all capabilities go; system calls are
// filtered.
#pragma once

#include "runtime/artifact/fetcher/reporter.hpp"
#include "runtime/artifact/protocol/protocol.hpp"
#include "runtime/base/result.hpp"

namespace nomad::artifact {

/// Confines this process for good, and makes the directory of `directory_descriptor` its working
/// directory. What the kernel does not have is warned of; what fails although it has it is an
/// error, `io`, and nothing is to be fetched.
Result<> confine(const Confinement& confinement, const Reporter& reporter);

}  // namespace nomad::artifact
