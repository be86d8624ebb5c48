// Which registrations of a service somebody is given.
#include "runtime/cluster/data/service_choice.hpp"

#include <algorithm>
#include <set>

#include <doctest/doctest.h>

#include "runtime/object/draft.hpp"

using namespace nomad;
using namespace nomad::cluster;

namespace {

std::vector<ServiceRef> ten_services() {
  std::vector<ServiceRef> all;
  for (int number = 0; number < 10; ++number) {
    Draft<schema::ServiceRegistration> draft;
    draft->setId(text("s" + std::to_string(number)));
    all.push_back(draft.freeze());
  }
  return all;
}

std::string chosen(std::vector<ServiceRef> services, const Choice& choice) {
  std::string ids;
  for (const auto& one : choose(std::move(services), choice))
    ids += copy(one->getId()) + ' ';
  return ids;
}

}  // namespace

TEST_CASE("service_choice: a choice is a number and a key") {
  CHECK_FALSE(parse_choice("")->has_value());
  const auto choice = parse_choice("3|a|b");
  REQUIRE(choice.has_value());
  CHECK((*choice)->number == 3);
  CHECK((*choice)->key == "a|b");
  for (const auto* wrong : {"3", "3|", "|k", "+3|k", "3 |k", "0x3|k"})
    CHECK(parse_choice(wrong).error().code == Errc::invalid_argument);
}

TEST_CASE("service_choice: it does not depend on the order, nor change with versions") {
  auto services = ten_services();
  const auto first = chosen(services, {3, "me"});
  std::ranges::reverse(services);
  CHECK(chosen(services, {3, "me"}) == first);
  CHECK(chosen(services, {10, "me"}).starts_with(first));
  CHECK(chosen(services, {99, "me"}).size() == 30);
  CHECK(chosen({}, {3, "me"}).empty());
  std::set<std::string> different;
  for (int key = 0; key < 100; ++key)
    different.insert(chosen(services, {1, std::to_string(key)}));
  CHECK(different.size() == 10);
}

TEST_CASE("service_choice: when one goes, only its place is taken by another") {
  const auto services = ten_services();
  for (int key = 0; key < 20; ++key) {
    const Choice choice{3, std::to_string(key)};
    const auto before = choose(services, choice);
    auto fewer = services;
    std::erase_if(fewer, [&](const auto& one) { return one.equals(before[1]); });
    const auto after = choose(fewer, choice);
    CHECK(after[0].equals(before[0]));
    CHECK(after[1].equals(before[2]));
  }
}
