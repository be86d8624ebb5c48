#include "runtime/net/kept_users.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include <arpa/inet.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "runtime/net/socket.hpp"

namespace nomad::net {
namespace {

/// Words that leave nothing but what everybody may do, and are not empty, which would leave all.
constexpr const char* nothing = "node:";

struct Ends {
  sockaddr_storage own{};
  sockaddr_storage peer{};
};

bool is_mapped(const in6_addr& address) {
  return IN6_IS_ADDR_V4MAPPED(&address);
}

/// An address for the question: its bytes and its port.
void fill(const sockaddr_storage& from, bool as_ipv4, __be32 (&address)[4], __be16& port) {
  in6_addr six{};
  if (from.ss_family == AF_INET) {
    sockaddr_in four{};
    std::memcpy(&four, &from, sizeof four);
    port = four.sin_port;
    six.s6_addr[10] = six.s6_addr[11] = 0xff;
    std::memcpy(&six.s6_addr[12], &four.sin_addr, 4);
  } else {
    sockaddr_in6 whole{};
    std::memcpy(&whole, &from, sizeof whole);
    port = whole.sin6_port;
    six = whole.sin6_addr;
  }
  std::memset(address, 0, sizeof address);
  if (as_ipv4)
    std::memcpy(address, &six.s6_addr[12], 4);
  else
    std::memcpy(address, &six, sizeof six);
}

/// The owner of the socket that is bound to the peer's address and connected to ours.
Result<std::optional<uid_t>> ask(const Descriptor& kernel, const Ends& ends, bool as_ipv4) {
  struct {
    nlmsghdr head;
    inet_diag_req_v2 body;
  } question{};

  question.head.nlmsg_len = sizeof question;
  question.head.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  question.head.nlmsg_flags = NLM_F_REQUEST;
  question.body.sdiag_family = as_ipv4 ? AF_INET : AF_INET6;
  question.body.sdiag_protocol = IPPROTO_TCP;
  question.body.idiag_states = ~0U;
  auto& id = question.body.id;
  fill(ends.peer, as_ipv4, id.idiag_src, id.idiag_sport);
  fill(ends.own, as_ipv4, id.idiag_dst, id.idiag_dport);
  id.idiag_cookie[0] = id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
  if (::send(kernel.fd, &question, sizeof question, 0) < 0)
    return errno_error("asking whose a socket is", errno);
  alignas(nlmsghdr) std::array<char, 4096> answer;
  const auto got = ::recv(kernel.fd, answer.data(), answer.size(), 0);
  if (got < static_cast<ssize_t>(NLMSG_LENGTH(sizeof(int))))
    return errno_error("asking whose a socket is", got < 0 ? errno : EBADMSG);
  nlmsghdr head{};
  std::memcpy(&head, answer.data(), sizeof head);
  if (head.nlmsg_type == NLMSG_ERROR) {
    int code = 0;
    std::memcpy(&code, answer.data() + NLMSG_HDRLEN, sizeof code);
    if (code == -ENOENT) return std::optional<uid_t>{};
    return errno_error("asking whose a socket is", -code);
  }
  if (got < static_cast<ssize_t>(NLMSG_LENGTH(sizeof(inet_diag_msg))))
    return errno_error("asking whose a socket is", EBADMSG);
  inet_diag_msg found{};
  std::memcpy(&found, answer.data() + NLMSG_HDRLEN, sizeof found);
  // Closed already: it is nobody's any more, and the kernel says root's.
  if (found.idiag_inode == 0) return Error{Errc::unavailable, "the other end is closed already"};
  return std::optional<uid_t>{found.idiag_uid};
}

/// Whether both ends are surely of this machine.
bool is_within(const Ends& ends) {
  __be32 own[4];
  __be32 peer[4];
  __be16 port = 0;
  fill(ends.own, false, own, port);
  fill(ends.peer, false, peer, port);
  return std::memcmp(own, peer, sizeof own) == 0;
}

}  // namespace

Result<std::optional<uid_t>> user_of_peer(int socket) {
  Ends ends;
  socklen_t own_size = sizeof ends.own;
  socklen_t peer_size = sizeof ends.peer;
  if (::getsockname(socket, reinterpret_cast<sockaddr*>(&ends.own), &own_size) != 0
      || ::getpeername(socket, reinterpret_cast<sockaddr*>(&ends.peer), &peer_size) != 0)
    return errno_error("asking for a socket's address", errno);
  if (ends.own.ss_family == AF_UNIX) {
    ucred peer{};
    socklen_t size = sizeof peer;
    if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0)
      return errno_error("asking whose a socket is", errno);
    return std::optional{peer.uid};
  }
  const Descriptor kernel{::socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG)};
  if (kernel.fd < 0) return errno_error("asking whose a socket is", errno);
  sockaddr_in6 peer{};
  std::memcpy(&peer, &ends.peer, sizeof peer);
  if (ends.own.ss_family == AF_INET || is_mapped(peer.sin6_addr))
    if (auto found = ask(kernel, ends, true); !found || *found) return found;
  auto found = ask(kernel, ends, false);  // of IPv6, or one of IPv6 that has connected to IPv4
  if (found && !*found && is_within(ends))
    return Error{Errc::unavailable, "the other end is gone already"};
  return found;
}

void KeptUsers::keep(const std::string& whom, uid_t user, std::string words) {
  if (user == ::geteuid()) return;
  const std::lock_guard lock{guard_};
  kept_[{user, whom}] = words.empty() ? nothing : std::move(words);
}

std::string KeptUsers::words_of(uid_t user) const {
  const std::lock_guard lock{guard_};
  std::string all;
  for (auto each = kept_.lower_bound({user, ""}); each != kept_.end(); ++each) {
    if (each->first.first != user) break;
    if (!all.empty() && all != each->second) return nothing;
    all = each->second;
  }
  return all;
}

std::string KeptUsers::limits_of(int socket) const {
  {
    const std::lock_guard lock{guard_};
    if (kept_.empty()) return {};
  }
  const auto user = user_of_peer(socket);
  if (!user) return nothing;
  return *user ? words_of(**user) : std::string{};
}

}  // namespace nomad::net
