#include "actors/client/drivers/qemu_command.hpp"

#include <algorithm>

#include <doctest/doctest.h>

using namespace nomad;
using namespace nomad::client;

namespace {

using Words = std::vector<std::string>;

QemuMachine machine() {
  return {.image = "/images/disk.img", .memory_mib = 256, .ports = {{"ssh", 22000}, {"web", 8000}}};
}

Result<Words> qemu_words(const char* config,
                         const QemuSettings& settings = {},
                         const QemuMachine& given = machine()) {
  return qemu_arguments(ConfigReader::parse(config).value(), settings, given);
}

bool has_words(const Words& words, const Words& part) {
  return std::search(words.begin(), words.end(), part.begin(), part.end()) != words.end();
}

std::string qemu_refusal(const char* config,
                         const QemuSettings& settings = {},
                         const QemuMachine& given = machine()) {
  const auto made = qemu_words(config, settings, given);
  return made ? "" : made.error().what;
}

}  // namespace

TEST_CASE("qemu command: a machine with nothing but its disk") {
  CHECK(qemu_words("{}").value()
        == Words{"-machine", "type=pc,accel=tcg", "-name", "disk.img", "-m", "256M", "-drive",
                 "file=/images/disk.img,if=ide", "-nographic"});
}

TEST_CASE("qemu command: each key has its options") {
  CHECK(has_words(qemu_words(R"({"graceful_shutdown":true})").value(),
                  {"-monitor", "unix:qm.sock,server,nowait"}));
  CHECK(has_words(qemu_words(R"({"guest_agent":true})").value(),
                  {"-chardev", "socket,path=qa.sock,server,nowait,id=qga0"}));
  CHECK(has_words(qemu_words(R"({"drive_interface":"virtio"})").value(),
                  {"-drive", "file=/images/disk.img,if=virtio"}));
  CHECK(has_words(qemu_words(R"({"args":["-nodefaults","x"]})").value(),
                  {"-nographic", "-nodefaults", "x"}));
  auto with_cores = machine();
  with_cores.cores = 3;
  const auto fast = qemu_words(R"({"accelerator":"kvm"})", {}, with_cores).value();
  CHECK(has_words(fast, {"-machine", "type=pc,accel=kvm"}));
  CHECK(has_words(fast, {"-enable-kvm", "-cpu", "host", "-smp", "3"}));
}

TEST_CASE("qemu command: ports of the host lead to those of the machine") {
  auto given = machine();
  given.name_servers = {"10.0.0.1", "10.0.0.2"};
  given.search_domains = {"a.test", "b.test"};
  CHECK(has_words(
      qemu_words(R"({"port_map":{"ssh":"22"}})", {}, given).value(),
      {"-netdev",
       "user,id=user.0,dns=10.0.0.1,dnssearch=a.test,dnssearch=b.test,hostfwd=udp::22000-:22,"
       "hostfwd=tcp::22000-:22",
       "-device", "virtio-net,netdev=user.0"}));
  CHECK(qemu_refusal(R"({"port_map":{"sh":"22"}})") == "Unknown port label \"sh\"");
  CHECK(qemu_refusal(R"({"port_map":{"ssh":"twenty"}})")
        == "port_map.ssh: expected a port, got \"twenty\"");
  CHECK(qemu_refusal(R"({"port_map":{"ssh":"65536"}})").starts_with("port_map.ssh: "));
}

TEST_CASE("qemu command: a value is never more than one option") {
  auto given = machine();
  given.image = "/images/a,if=none.img";
  const auto made = qemu_words(R"({"accelerator":"tcg,dumpdtb=/etc/passwd"})", {}, given).value();
  CHECK(has_words(made, {"-machine", "type=pc,accel=tcg,,dumpdtb=/etc/passwd"}));
  CHECK(has_words(made, {"-name", "a,,if=none.img"}));
  CHECK(has_words(made, {"-drive", "file=/images/a,,if=none.img,if=ide"}));
}

TEST_CASE("qemu command: what can't be is refused in Nomad's words") {
  CHECK(qemu_refusal(R"({"drive_interface":"usb"})") == "Unsupported drive_interface");
  auto small = machine();
  small.memory_mib = 127;
  CHECK(qemu_refusal("{}", {}, small) == "QEMU memory assignment out of bounds");
  const QemuSettings strict{.image_paths = {}, .args_allowlist = {"-drive", "-nodefaults"}};
  CHECK(qemu_refusal(R"({"args":["-nodefaults"]})", strict).empty());
  CHECK(qemu_refusal(R"({"args":["-device","x"]})", strict)
        == "\"-device\" is not in args_allowlist");
  CHECK(qemu_refusal(R"({"args":[" -device"]})", strict)
        == "\" -device\" is not in args_allowlist");
}

TEST_CASE("qemu command: images are in allowed directories, or below") {
  CHECK(is_image_allowed("/images/a/b.img", {"/other", "/images/"}));
  CHECK_FALSE(is_image_allowed("/images2/b.img", {"/images"}));
  CHECK_FALSE(is_image_allowed("/images", {"/images"}));
  CHECK_FALSE(is_image_allowed("/etc/shadow", {}));
}

TEST_CASE("qemu settings: lists of the agent's configuration") {
  const auto settings
      = read_qemu_settings({{"image_paths", "/a,/b"}, {"args_allowlist", "-drive"}});
  CHECK(settings.image_paths == Words{"/a", "/b"});
  CHECK(settings.args_allowlist == Words{"-drive"});
  CHECK(read_qemu_settings({}).image_paths.empty());
}

TEST_CASE("qemu version: the number behind the word") {
  CHECK(parse_qemu_version("QEMU emulator version 7.2.17 (Debian 1:7.2+dfsg-7)") == "7.2.17");
  CHECK(parse_qemu_version("QEMU emulator version 9.0").starts_with("9.0"));
  CHECK(parse_qemu_version("nonsense").empty());
}
