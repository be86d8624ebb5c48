// Judges the connections of programs that fetch by themselves (git, its ssh, hg): the kernel asks
// for each connect(2) of theirs, by a filter of system calls, and a thread of this process answers.
//
// It keeps programs that do what they should from addresses that a job, a redirect or a name server
// leads them to. One that was taken over gets around it: the address can change behind the look.
// Tests: what it judges by in reach_test, the programs under it in test/system/artifacts.
#pragma once

#include <string>
#include <vector>

#include "runtime/artifact/rules/reach.hpp"
#include "runtime/base/result.hpp"

namespace nomad::artifact {

/// Of its interfaces, as they are now. Before the process is confined.
std::vector<IpBytes> addresses_of_machine();

/// That it asks, by /etc/resolv.conf. Before the process is confined.
std::vector<IpBytes> name_servers_of_machine();

/// From now on, for this thread and what it starts; `judge` outlives the process. An error: the
/// kernel can't. This thread must have no new privileges.
Result<> guard_connections(const ReachJudge& judge);

/// Why a connection was refused last; empty: none was.
std::string refused_connection();

}  // namespace nomad::artifact
