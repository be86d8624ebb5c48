// Descriptors that go from the executor to the agent beside the bytes of a message (SCM_RIGHTS).
// They arrive no later than the last byte of the message that they were sent with, and in order.
#pragma once

#include <string_view>
#include <vector>

#include <sys/types.h>

#include "runtime/host/process/unique_fd.hpp"

namespace nomad::host::executor {

/// The most that one message brings.
inline constexpr std::size_t max_descriptors = 8;

/// As send(2), without SIGPIPE; the descriptors go with the first byte. The sender keeps its own.
ssize_t send_with(int socket, std::string_view bytes, const std::vector<UniqueFd>& descriptors);

/// As recv(2); appends what descriptors came, which close on exec.
ssize_t receive_with(int socket, char* buffer, std::size_t size, std::vector<UniqueFd>& received);

}  // namespace nomad::host::executor
