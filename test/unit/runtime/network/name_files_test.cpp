// /etc/hosts and /etc/resolv.conf of tasks.
#include "runtime/network/name_files.hpp"

#include <doctest/doctest.h>

using namespace nomad::network;

TEST_CASE("name files: hosts has this machine, and the allocation") {
  CHECK(hosts_file("172.26.64.2", "web")
            .ends_with("ff02::3 ip6-allhosts\n\n# this entry is the IP address and hostname of the "
                       "allocation\n"
                       "# shared with tasks in the task group's network\n172.26.64.2 web\n"));
  CHECK(hosts_file("", "web").ends_with("ff02::3 ip6-allhosts\n"));
}

TEST_CASE("name files: what a job leaves out of its name servers is the host's") {
  const std::string host
      = "# of the host\ndomain old\nsearch a.example b.example # both\n"
        "nameserver 10.0.0.1\nnameserver\t10.0.0.2\noptions ndots:2\nsortlist x\n";
  CHECK(parse_resolvers(host)
        == Resolvers{{"10.0.0.1", "10.0.0.2"}, {"a.example", "b.example"}, {"ndots:2"}});
  CHECK(resolver_file({}, host) == host);
  CHECK(resolver_file({.servers = {"1.1.1.1"}, .searches = {}, .options = {}}, host)
        == "search a.example b.example\nnameserver 1.1.1.1\noptions ndots:2\n");
  CHECK(resolver_file({.servers = {}, .searches = {"."}, .options = {"rotate", "timeout:1"}}, host)
        == "nameserver 10.0.0.1\nnameserver 10.0.0.2\noptions rotate timeout:1\n");
}

TEST_CASE("name files: a hostname is a DNS name") {
  const std::string longest_part(63, 'a');
  const auto longest = longest_part + '.' + longest_part + '.' + longest_part + '.'
                       + longest_part.substr(2);  // 253
  for (const auto& good : {std::string{"web"}, std::string{"web-1.example.com"}, std::string{"a_b"},
                           std::string{"7"}, std::string{"azAZ09"}, longest_part, longest})
    CHECK_MESSAGE(check_hostname(good), good);
  for (const auto& bad :
       {std::string{}, std::string{"a b"}, std::string{"-a"}, std::string{"a-"},
        std::string{"a..b"}, longest_part + 'a', longest + 'a', std::string{"${x}"},
        std::string{"a`"}, std::string{"a{"}, std::string{"a@"}, std::string{"a["},
        std::string{"a/"}, std::string{"a:"}})
    CHECK(check_hostname(bad).has_error());
}
