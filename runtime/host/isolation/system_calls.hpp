// The system calls that tasks of `exec` are refused, and the kernel's program that refuses them.
//
// It is a list of what is refused, not of what is allowed: Nomad has no filter at all, and programs
// that run there have to run here. Refused is what could undo the isolation, or reaches parts of
// the kernel that namespaces do not part (its keys), or that tasks have no use for and that were
// ways out again and again (io_uring). Most of it needs a capability that tasks do not have; a task
// that has it is not refused the call, so that `cap_add` means here what it means in Nomad.
#pragma once

#include <span>
#include <string>

#include "runtime/base/result.hpp"
#include "runtime/host/isolation/capabilities.hpp"

namespace nomad::host {

struct RefusedCall {
  const char* name;
  CapabilitySet unless{};  ///< One of them lets it pass; empty: it never does.
};

/// All of them but what depends on arguments: clone(2) with a namespace's flag, ioctl(2) that types
/// into terminals, sockets to the machine's host, personalities.
std::span<const RefusedCall> refused_calls();

bool is_refused(const RefusedCall& call, CapabilitySet capabilities);

/// The program (struct sock_filter[]) for tasks with these capabilities, of this machine's
/// architecture and those that its kernel runs, too. Takes milliseconds: keep it. `unavailable`
/// when libseccomp can't make it.
Result<std::string> make_call_filter(CapabilitySet capabilities);

}  // namespace nomad::host
