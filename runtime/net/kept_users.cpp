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
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <ifaddrs.h>

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

/// What kernels answer with is whole in so much.
using Answer = std::array<char, 4096>;

struct Question {
  nlmsghdr head{};
  inet_diag_req_v2 body{};
};

/// The kernel's answer, at least a head and a number behind it.
Result<std::size_t> put(const Descriptor& kernel, Question& question, Answer& answer) {
  question.head.nlmsg_len = sizeof question;
  question.head.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  question.head.nlmsg_flags |= NLM_F_REQUEST;
  question.body.sdiag_protocol = IPPROTO_TCP;
  if (::send(kernel.fd, &question, sizeof question, 0) < 0)
    return errno_error("asking whose a socket is", errno);
  const auto got = ::recv(kernel.fd, answer.data(), answer.size(), 0);
  if (got < static_cast<ssize_t>(NLMSG_LENGTH(sizeof(int))))
    return errno_error("asking whose a socket is", got < 0 ? errno : EBADMSG);
  return static_cast<std::size_t>(got);
}

/// What begins at `at`.
template <class T>
T part_of(const Answer& answer, std::size_t at) {
  T part{};
  std::memcpy(&part, answer.data() + at, sizeof part);
  return part;
}

Result<Descriptor> open_kernel() {
  Descriptor kernel{::socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG)};
  if (kernel.fd < 0) return errno_error("asking whose a socket is", errno);
  return kernel;
}

/// Whether kernels can be asked at all: one without inet_diag says the same as of a socket that is
/// not there.
Result<> can_ask(int family) {
  const auto kernel = NOMAD_TRY(open_kernel());
  Question question;
  question.head.nlmsg_flags = NLM_F_DUMP;
  question.body.sdiag_family = static_cast<__u8>(family);
  question.body.idiag_states = 0;  // of all sockets none
  Answer answer;
  NOMAD_TRY(put(kernel, question, answer));
  const auto head = part_of<nlmsghdr>(answer, 0);
  const auto code = part_of<int>(answer, NLMSG_HDRLEN);
  if (head.nlmsg_type == NLMSG_DONE && code == 0) return {};
  return errno_error("asking whose a socket is", code < 0 ? -code : EBADMSG);
}

/// An address in the form that it has in IPv6, and a port.
struct Location {
  std::array<__be32, 4> address{};
  __be16 port = 0;

  bool operator==(const Location&) const = default;
};

Location location_of(const sockaddr_storage& from) {
  Location location;
  __be32 address[4];
  fill(from, false, address, location.port);
  std::memcpy(location.address.data(), address, sizeof address);
  return location;
}

Location location_of(unsigned family, const __be32 (&address)[4], __be16 port) {
  Location location{{}, port};
  if (family == AF_INET)
    location.address = {0, 0, htonl(0xffff), address[0]};
  else
    std::memcpy(location.address.data(), address, sizeof address);
  return location;
}

/// Where there is no such connection, the kernel answers with who listens at the peer's port.
bool is_that_of(const inet_diag_msg& found, const Ends& ends) {
  const auto& id = found.id;
  return found.idiag_state != TCP_LISTEN
         && location_of(found.idiag_family, id.idiag_src, id.idiag_sport) == location_of(ends.peer)
         && location_of(found.idiag_family, id.idiag_dst, id.idiag_dport) == location_of(ends.own);
}

/// The owner of the socket that is bound to the peer's address and connected to ours.
Result<std::optional<uid_t>> ask(const Descriptor& kernel, const Ends& ends, bool as_ipv4) {
  Question question;
  question.body.sdiag_family = as_ipv4 ? AF_INET : AF_INET6;
  question.body.idiag_states = ~0U;
  auto& id = question.body.id;
  fill(ends.peer, as_ipv4, id.idiag_src, id.idiag_sport);
  fill(ends.own, as_ipv4, id.idiag_dst, id.idiag_dport);
  id.idiag_cookie[0] = id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
  Answer answer;
  const auto got = NOMAD_TRY(put(kernel, question, answer));
  if (part_of<nlmsghdr>(answer, 0).nlmsg_type == NLMSG_ERROR) {
    const auto code = part_of<int>(answer, NLMSG_HDRLEN);
    if (code == -ENOENT) return std::optional<uid_t>{};
    return errno_error("asking whose a socket is", -code);
  }
  if (got < NLMSG_LENGTH(sizeof(inet_diag_msg)))
    return errno_error("asking whose a socket is", EBADMSG);
  const auto found = part_of<inet_diag_msg>(answer, NLMSG_HDRLEN);
  // Closed already: it is nobody's any more, and the kernel says root's.
  if (found.idiag_inode == 0 && found.idiag_state != TCP_LISTEN)
    return Error{Errc::unavailable, "the other end is closed already"};
  if (!is_that_of(found, ends)) return std::optional<uid_t>{};
  return std::optional<uid_t>{found.idiag_uid};
}

/// Whether the other end is surely of this machine: its address is one of those.
bool is_within(const Ends& ends) {
  const auto peer = location_of(ends.peer).address;
  const auto four = ntohl(peer[3]);
  const bool is_ipv4 = peer[0] == 0 && peer[1] == 0 && peer[2] == htonl(0xffff);
  if (is_ipv4 && four >> 24U == IN_LOOPBACKNET) return true;
  if (peer == location_of(ends.own).address) return true;  // ::1, too
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return true;
  bool is_own = false;
  for (const auto* each = list; each != nullptr && !is_own; each = each->ifa_next) {
    if (each->ifa_addr == nullptr) continue;
    const int family = each->ifa_addr->sa_family;
    if (family != AF_INET && family != AF_INET6) continue;
    sockaddr_storage address{};
    std::memcpy(&address, each->ifa_addr,
                family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6));
    is_own = location_of(address).address == peer;
  }
  ::freeifaddrs(list);
  return is_own;
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
  const auto kernel = NOMAD_TRY(open_kernel());
  sockaddr_in6 peer{};
  std::memcpy(&peer, &ends.peer, sizeof peer);
  if (ends.own.ss_family == AF_INET || is_mapped(peer.sin6_addr))
    if (auto found = ask(kernel, ends, true); !found || *found) return found;
  auto found = ask(kernel, ends, false);  // of IPv6, or one of IPv6 that has connected to IPv4
  if (found && !*found && is_within(ends))
    return Error{Errc::unavailable, "the other end is gone already"};
  return found;
}

Result<> KeptUsers::keep(const std::string& whom, uid_t user, std::string words) {
  if (user == ::geteuid()) return {};
  NOMAD_TRY(can_ask(AF_INET).within("this kernel does not say whose connections are (inet_diag)"));
  const std::lock_guard lock{guard_};
  kept_[{user, whom}] = words.empty() ? nothing : std::move(words);
  return {};
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
