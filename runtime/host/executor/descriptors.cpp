#include "runtime/host/executor/descriptors.hpp"

#include <cerrno>
#include <cstring>

#include <sys/socket.h>
#include <sys/uio.h>

namespace nomad::host::executor {

namespace {

union Control {
  cmsghdr aligned;
  char bytes[CMSG_SPACE(max_descriptors * sizeof(int))];
};

}  // namespace

ssize_t send_with(int socket, std::string_view bytes, const std::vector<UniqueFd>& descriptors) {
  iovec piece{const_cast<char*>(bytes.data()), bytes.size()};
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  Control control{};
  if (descriptors.size() > max_descriptors) {
    errno = E2BIG;
    return -1;
  }
  if (!descriptors.empty()) {
    std::size_t size = descriptors.size() * sizeof(int);
    message.msg_control = control.bytes;
    message.msg_controllen = CMSG_SPACE(size);
    cmsghdr* head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(size);
    auto* location = CMSG_DATA(head);
    for (const UniqueFd& descriptor : descriptors) {
      int number = descriptor.get();
      std::memcpy(location, &number, sizeof number);
      location += sizeof number;
    }
  }
  return ::sendmsg(socket, &message, MSG_NOSIGNAL);
}

ssize_t receive_with(int socket, char* buffer, std::size_t size, std::vector<UniqueFd>& received) {
  iovec piece{buffer, size};
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  Control control{};
  message.msg_control = control.bytes;
  message.msg_controllen = sizeof control.bytes;
  ssize_t got = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  if (got < 0) return got;
  for (cmsghdr* head = CMSG_FIRSTHDR(&message); head != nullptr;
       head = CMSG_NXTHDR(&message, head)) {
    if (head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS) continue;
    std::size_t count = (head->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int number = -1;
      std::memcpy(&number, CMSG_DATA(head) + i * sizeof number, sizeof number);
      received.emplace_back(number);
    }
  }
  return got;
}

}  // namespace nomad::host::executor
