#include "runtime/host/isolation/capabilities.hpp"

#include <linux/capability.h>

#include <doctest/doctest.h>

using namespace nomad;
using namespace nomad::host;

namespace {

CapabilitySet set(std::vector<std::string> names) {
  return parse_capabilities(names).value();
}

}  // namespace

TEST_CASE(
    "capabilities: names are read as Nomad reads them, in any case and with or without CAP_") {
  CHECK(set({"NET_RAW"}).bits() == std::uint64_t{1} << CAP_NET_RAW);
  CHECK(set({"cap_net_raw"}) == set({" CAP_NET_RAW "}));
  CHECK(set({}).empty());
  CHECK(set({""}).empty());
  CHECK(set({"all"}) == all_capabilities());
  CHECK(set({"checkpoint_restore"}).bits() == std::uint64_t{1} << CAP_CHECKPOINT_RESTORE);

  const std::vector<std::string> wrong{"chown", "CAP_NETRAW", "root"};
  const auto refused = parse_capabilities(wrong);
  REQUIRE(refused.has_error());
  CHECK(refused.error().what == "netraw, root");
}

TEST_CASE("capabilities: a task has Docker's defaults without NET_RAW, if its driver allows them") {
  CHECK(to_text(default_capabilities())
        == "audit_write, chown, dac_override, fowner, fsetid, kill, mknod, net_bind_service, "
           "setfcap, setgid, setpcap, setuid, sys_chroot");
  CHECK(task_capabilities({.allowed = default_capabilities()}).value() == default_capabilities());
  CHECK(task_capabilities({.allowed = set({"chown", "net_raw"})}).value() == set({"chown"}));
  CHECK(task_capabilities({.allowed = all_capabilities()}).value() == default_capabilities());
  CHECK(task_capabilities({.allowed = {}}).value().empty());
}

TEST_CASE(
    "capabilities: what is dropped and added again is there, what is not allowed is refused") {
  const auto allowed = set({"chown", "kill", "net_raw"});

  CHECK(task_capabilities({.allowed = allowed, .added = set({"kill"}), .dropped = set({"all"})})
            .value()
        == set({"kill"}));
  CHECK(task_capabilities({.allowed = allowed, .added = set({"net_raw"})}).value()
        == set({"chown", "kill", "net_raw"}));

  const auto refused
      = task_capabilities({.allowed = allowed, .added = set({"sys_admin", "net_admin", "chown"})});
  REQUIRE(refused.has_error());
  CHECK(refused.error()
        == Error{Errc::rejected,
                 "driver does not allow the following capabilities: net_admin, sys_admin"});
}

TEST_CASE("capabilities: root has those of old, whatever is allowed") {
  CHECK(root_capabilities().contains(CAP_SYS_ADMIN));
  CHECK(root_capabilities().contains(CAP_AUDIT_READ));
  CHECK_FALSE(root_capabilities().contains(CAP_PERFMON));
  CHECK_FALSE(root_capabilities().contains(CAP_BPF));
}
