// What an operator is shown of the machine.
#include "runtime/host/fingerprint/host_data.hpp"

#include <doctest/doctest.h>

using namespace nomad::host;
namespace ip = boost::asio::ip;

TEST_CASE("host_data: secrets of the environment are not shown") {
  const char* const environment[] = {"PATH=/bin:/sbin", "vault_token=s.abc",
                                     "DB_PASSWORD=a=b", "OLDPWD=/root",
                                     "EMPTY=",          "LINE",
                                     "KEYBOARD=de",     nullptr};
  const auto shown = shown_environment(environment);
  CHECK(shown.at("PATH") == "/bin:/sbin");
  CHECK(shown.at("vault_token") == "<redacted>");
  CHECK(shown.at("DB_PASSWORD") == "<redacted>");
  CHECK(shown.at("OLDPWD") == "/root");
  CHECK(shown.at("EMPTY").empty());
  CHECK(shown.at("LINE").empty());
  CHECK(shown.at("KEYBOARD") == "<redacted>");
}

TEST_CASE("host_data: whatever may name a secret hides its value") {
  for (const char* name :
       {"AWS_ACCESS_KEY_ID", "GOOGLE_APPLICATION_CREDENTIALS", "NOMAD_LICENSE", "STRIPE_APIKEY",
        "SSH_KEY", "REDISCLI_AUTH", "HTTP_AUTHORIZATION", "DB_PASS", "PGPASSFILE", "MYSQL_PWD",
        "client_secret", "Private_Pem", "SENTRY_DSN", "ERLANG_COOKIE", "GITHUB_TOKEN"}) {
    CAPTURE(name);
    CHECK(shown_value(name, "it") == "<redacted>");
  }
}

TEST_CASE("host_data: URLs are shown without users and passwords") {
  const auto shown = [](std::string_view value) { return shown_value("PLACE", value); };
  CHECK(shown("postgres://me:pw@db:5432/all") == "postgres://<redacted>@db:5432/all");
  CHECK(shown("https://ghp_1@github.com/a") == "https://<redacted>@github.com/a");
  CHECK(shown("redis://:p@ss/w?#rd@cache") == "redis://<redacted>@cache");
  CHECK(shown("a http://b/c amqp://u:p@d e@f") == "a http://b/c amqp://<redacted>@d e@f");
  CHECK(shown("amqp://u:p@a,amqp://v:q@b") == "amqp://<redacted>@b");
  CHECK(shown("http://proxy:3128") == "http://proxy:3128");
  CHECK(shown("me@home") == "me@home");
  CHECK(shown("x://") == "x://");
}

TEST_CASE("host_data: an address of version 4 is described as its users know it") {
  const auto facts = facts_of(ip::make_network_v4("10.1.2.3/24"));
  CHECK(facts.at("type") == "IPv4");
  CHECK(facts.at("string") == "10.1.2.3/24");
  CHECK(facts.at("network") == "10.1.2.0");
  CHECK(facts.at("netmask") == "255.255.255.0");
  CHECK(facts.at("broadcast") == "10.1.2.255");
  CHECK(facts.at("first_usable") == "10.1.2.1");
  CHECK(facts.at("last_usable") == "10.1.2.254");
  CHECK(facts.at("size") == "256");
  CHECK(facts.at("hex") == "0a010203");
  CHECK(facts.at("octets") == "10 1 2 3");
  CHECK(facts.at("uint32") == "167838211");
  CHECK(facts.at("binary") == "00001010000000010000001000000011");

  const auto alone = facts_of(ip::make_network_v4("10.1.2.3/32"));
  CHECK(alone.at("string") == "10.1.2.3");
  CHECK(alone.at("first_usable") == "10.1.2.3");
  CHECK(alone.at("last_usable") == "10.1.2.3");
  CHECK(facts_of(ip::make_network_v4("0.0.0.0/0")).at("size") == "4294967296");
}

TEST_CASE("host_data: an address of version 6 is described as its users know it") {
  const auto facts = facts_of(ip::make_network_v6("fe80::1:2/64"));
  CHECK(facts.at("type") == "IPv6");
  CHECK(facts.at("string") == "fe80::1:2/64");
  CHECK(facts.at("first_usable") == "fe80::");
  CHECK(facts.at("last_usable") == "fe80::ffff:ffff:ffff:ffff");
  CHECK(facts.at("ListenStream") == "\"tcp6\" \"[fe80::1:2]:0\"");
}

TEST_CASE("host_data: disks are what is mounted but the kernel's own file systems") {
  CHECK(parse_disk_mounts("/dev/sda1 / ext4 rw 0 0\n"
                          "proc /proc proc rw 0 0\n"
                          "/dev/sdb1 /my\\040disk xfs rw 0 0\n"
                          "broken\n"
                          "tmpfs /run tmpfs rw 0 0\n")
        == std::vector<std::string>{"/", "/my disk"});
  CHECK(parse_disk_mounts("").empty());
}

TEST_CASE("host_data: file systems that somebody else answers for are no disks") {
  for (const char* type :
       {"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "ceph", "afs", "lustre", "fuse", "fuse.sshfs",
        "fuse.glusterfs", "fuseblk", "fusectl", "glusterfs", "virtiofs"}) {
    CAPTURE(type);
    CHECK(parse_disk_mounts(std::string{"server:/a /mnt "} + type + " rw 0 0\n").empty());
  }
}
