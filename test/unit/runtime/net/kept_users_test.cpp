#include "runtime/net/kept_users.hpp"

#include <array>
#include <utility>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include "runtime/net/socket.hpp"

using namespace nomad;
using namespace nomad::net;

namespace {

/// A connection over loopback: both of its ends.
struct Connection {
  explicit Connection(int family = AF_INET, bool mapped = false) {
    const Descriptor listener{::socket(family, SOCK_STREAM, 0)};
    sockaddr_in6 six{};
    six.sin6_family = AF_INET6;
    six.sin6_addr = in6addr_any;
    sockaddr_in four{};
    four.sin_family = AF_INET;
    four.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const bool is_six = family == AF_INET6;
    auto* const bound
        = is_six ? reinterpret_cast<sockaddr*>(&six) : reinterpret_cast<sockaddr*>(&four);
    socklen_t size = is_six ? sizeof six : sizeof four;
    REQUIRE(::bind(listener.fd, bound, size) == 0);
    REQUIRE(::listen(listener.fd, 1) == 0);
    REQUIRE(::getsockname(listener.fd, bound, &size) == 0);
    four.sin_port = is_six ? six.sin6_port : four.sin_port;
    six.sin6_addr = in6addr_loopback;
    client = ::socket(is_six && !mapped ? AF_INET6 : AF_INET, SOCK_STREAM, 0);
    auto* const to = is_six && !mapped ? reinterpret_cast<sockaddr*>(&six)
                                       : reinterpret_cast<sockaddr*>(&four);
    REQUIRE(::connect(client, to, is_six && !mapped ? sizeof six : sizeof four) == 0);
    server = ::accept(listener.fd, nullptr, nullptr);
    REQUIRE(server >= 0);
  }

  Connection(const Connection&) = delete;

  ~Connection() {
    if (client >= 0) ::close(client);
    ::close(server);
  }

  int client = -1;
  int server = -1;
};

}  // namespace

TEST_CASE("kept users: whose a connection is, over every kind of socket") {
  const Connection four;
  CHECK(user_of_peer(four.server).value() == ::getuid());
  const Connection six{AF_INET6};
  CHECK(user_of_peer(six.server).value() == ::getuid());
  const Connection mapped{AF_INET6, true};
  CHECK(user_of_peer(mapped.server).value() == ::getuid());
  std::array<int, 2> ends{};
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()) == 0);
  CHECK(user_of_peer(ends[0]).value() == ::getuid());
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST_CASE("kept users: who has closed already is nobody, and not root") {
  Connection gone;
  ::close(std::exchange(gone.client, -1));
  CHECK_FALSE(user_of_peer(gone.server));
  KeptUsers users;
  CHECK(users.limits_of(gone.server).empty());  // nobody is kept to anything: nothing is asked
  REQUIRE(users.keep("stamp", ::getuid() + 1, "read-job"));
  CHECK(users.limits_of(gone.server) == "node:");
}

TEST_CASE("kept users: a user is kept to what all that run as it may do") {
  const Connection connection;
  KeptUsers users;
  REQUIRE(users.keep("own", ::geteuid(), ""));
  CHECK(users.limits_of(connection.server).empty());  // the agent's own
  REQUIRE(users.keep("other", ::geteuid() + 1, ""));
  CHECK(users.limits_of(connection.server).empty());
  if (::geteuid() != 0) return;

  // A socket is the user's who made it.
  REQUIRE(::seteuid(65534) == 0);
  const Connection of_nobody;
  REQUIRE(::seteuid(0) == 0);
  CHECK(user_of_peer(of_nobody.server).value() == 65534);
  CHECK(users.limits_of(of_nobody.server).empty());
  REQUIRE(users.keep("a", 65534, "read-job"));
  CHECK(users.limits_of(of_nobody.server) == "read-job");
  REQUIRE(users.keep("b", 65534, "read-job"));
  CHECK(users.limits_of(of_nobody.server) == "read-job");
  REQUIRE(users.keep("b", 65534, ""));
  CHECK(users.limits_of(of_nobody.server) == "node:");
  CHECK(users.limits_of(connection.server).empty());
}

TEST_CASE("kept users: who listens at the other end's port is not who has connected") {
  if (::geteuid() != 0) return;
  REQUIRE(::seteuid(65534) == 0);
  const Descriptor listener{::socket(AF_INET, SOCK_STREAM, 0)};
  REQUIRE(::seteuid(0) == 0);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  socklen_t size = sizeof at;
  auto* const address = reinterpret_cast<sockaddr*>(&at);
  REQUIRE(::bind(listener.fd, address, size) == 0);
  REQUIRE(::listen(listener.fd, 1) == 0);
  REQUIRE(::getsockname(listener.fd, address, &size) == 0);
  // An end of a connection whose other one is not of this machine's sockets.
  const Descriptor own{::socket(AF_INET, SOCK_STREAM, 0)};
  const int on = 1;
  if (::setsockopt(own.fd, IPPROTO_TCP, TCP_REPAIR, &on, sizeof on) != 0) return;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1);
  REQUIRE(::connect(own.fd, address, sizeof at) == 0);
  const auto whose = user_of_peer(own.fd);
  REQUIRE_FALSE(whose);
  CHECK(whose.error().what == "the other end is gone already");
}
