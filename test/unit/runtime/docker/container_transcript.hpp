// Transcripts of what happens to a container, for the tests of ContainerMachine.
#pragma once

#include <string>

namespace nomad::test {

/// The same transcript, with what the machine does now: of each line that begins with ">", what
/// follows from it. "> 3 created c1" is the answer to what was shown as "3: …"; a line that begins
/// with "#" is another container. `std::invalid_argument` for a line that says nothing.
std::string replay_container(const std::string& transcript);

}  // namespace nomad::test
