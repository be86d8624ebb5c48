#include "runtime/cluster/members/keyring_orders.hpp"

#include <limits>

#include <doctest/doctest.h>
#include <fmt/format.h>

using namespace nomad;
using namespace nomad::cluster;

namespace {

constexpr std::int64_t order_second = 1'000'000'000;
constexpr std::int64_t order_start = 1'000 * order_second;

std::string id_of_order(int number) {
  return fmt::format("{:016}", number);
}

std::string order_refusal(KeyringOrders& orders, const KeyringOrderMark& order, std::int64_t now) {
  const auto taken = orders.take(order, now);
  if (taken) return "";
  CHECK(taken.error().code == Errc::permission_denied);
  return taken.error().what;
}

}  // namespace

TEST_CASE("keyring orders: one is obeyed once, however long after") {
  KeyringOrders orders{"a", order_start};
  const KeyringOrderMark order{id_of_order(1), order_start + 10 * order_second, "a"};
  CHECK(order_refusal(orders, order, order_start + 12 * order_second).empty());
  const auto* const again
      = "the order about the keyring was obeyed already: it was recorded and sent again";
  CHECK(order_refusal(orders, order, order_start + 12 * order_second) == again);
  CHECK(order_refusal(orders, order, order_start + 70 * order_second) == again);
  CHECK(order_refusal(orders, order, order_start + 71 * order_second)
            .starts_with("the order about the keyring is not of this minute: "));
  CHECK(order_refusal(orders, {id_of_order(2), order_start + 71 * order_second, "a"},
                      order_start + 71 * order_second)
            .empty());
}

TEST_CASE("keyring orders: an order from ahead is not forgotten while it could be sent again") {
  KeyringOrders orders{"a", order_start};
  const KeyringOrderMark ahead{id_of_order(1), order_start + 60 * order_second, "a"};
  CHECK(order_refusal(orders, ahead, order_start).empty());
  CHECK(order_refusal(orders, {id_of_order(2), order_start + 119 * order_second, "a"},
                      order_start + 119 * order_second)
            .empty());
  CHECK_FALSE(order_refusal(orders, ahead, order_start + 120 * order_second).empty());
}

TEST_CASE("keyring orders: others' orders, old ones and those of no time are refused") {
  KeyringOrders orders{"a", order_start};
  const auto now = order_start + 100 * order_second;
  CHECK(order_refusal(orders, {id_of_order(1), now, "b"}, now)
        == "the order about the keyring is for another server");
  CHECK(order_refusal(orders, {id_of_order(1), now, ""}, now)
        == "the order about the keyring is for another server");
  for (const auto time :
       {now - 61 * order_second, now + 61 * order_second, std::int64_t{0},
        std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()})
    CHECK(order_refusal(orders, {id_of_order(1), time, "a"}, now)
          == "the order about the keyring is not of this minute: it was recorded and sent again, or "
             "the clocks of the two servers differ");
  CHECK(order_refusal(orders, {"", now, "a"}, now)
        == "the order about the keyring has no id: the other server is of an older release");
  CHECK(order_refusal(orders, {id_of_order(1), order_start - 1, "a"}, order_start + order_second)
        == "the order about the keyring is older than this server's start; give it again");
}

TEST_CASE("keyring orders: what is remembered is bounded, and nothing is forgotten for room") {
  KeyringOrders orders{"a", order_start};
  for (int i = 0; i < static_cast<int>(KeyringOrders::most_ids); ++i)
    CHECK(order_refusal(orders, {id_of_order(i), order_start, "a"}, order_start).empty());
  const KeyringOrderMark next{id_of_order(5'000), order_start + order_second, "a"};
  CHECK(orders.take(next, order_start + order_second).error()
        == Error{Errc::overloaded, "too many orders about the keyring; try again in two minutes"});
  CHECK_FALSE(order_refusal(orders, {id_of_order(0), order_start, "a"}, order_start).empty());
  CHECK(order_refusal(orders, {id_of_order(5'000), order_start + 61 * order_second, "a"},
                      order_start + 61 * order_second)
            .empty());
}
