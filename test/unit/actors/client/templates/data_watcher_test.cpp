// Following services and variables: how often servers are asked, and what followers hear.
#include "actors/client/templates/data_watcher.hpp"

#include "actors/client/templates/template_settings.hpp"
#include "test/unit/actors/client/client_fixture.hpp"

using namespace nomad;
using namespace nomad::test;
using client::data_watcher::Follow;
using client::data_watcher::News;
using client::data_watcher::Unfollow;
using templates::ClusterQuery;

namespace {

const ClusterQuery app{
    .kind = ClusterQuery::Kind::variable, .name_space = "default", .name = "app"};

/// The servers of a client, and a watcher alone.
struct Watched : ClientFixture {
  client::TemplateSettings settings;
  client::DataWatcher watcher;

  void watch() {
    watcher = adopt(client::spawn_data_watcher(
        system(),
        {.node_id = "n1",
         .servers = servers,
         .settings = std::make_shared<const client::TemplateSettings>(std::move(settings))}));
  }

  Answer<News> follow(std::uint64_t follower, std::uint64_t known = 0) {
    return ask<News>(watcher, Follow{.query = {app}, .known = known, .follower = follower});
  }

  std::uint64_t digest_now() { return data[app].digest; }
};

}  // namespace

TEST_CASE_FIXTURE(Watched, "data_watcher: many followers are one question") {
  watch();
  set_variable("app", {{"port", "80"}});
  for (std::uint64_t follower = 1; follower <= 50; ++follower) {
    const auto news = follow(follower);
    REQUIRE(news->has_value());
    CHECK((**news)->data->variable->items.at("port") == "80");
  }
  CHECK(data_questions == 2);  // The answer, and whether there is another.
}

TEST_CASE_FIXTURE(Watched, "data_watcher: all who wait hear of a change, once") {
  watch();
  set_variable("app", {{"port", "80"}});
  const auto known = (**follow(1))->data->digest;
  const auto one = follow(1, known);
  const auto two = follow(2, known);
  CHECK_FALSE(one->has_value());
  set_variable("app", {{"port", "81"}});
  REQUIRE((one->has_value() && two->has_value()));
  CHECK((**one)->data == (**two)->data);
  CHECK((**one)->data->digest == digest_now());
}

TEST_CASE_FIXTURE(Watched, "data_watcher: what does not exist is an answer, too") {
  watch();
  const auto news = follow(1);
  REQUIRE(news->has_value());
  CHECK_FALSE((**news)->data->variable);
}

TEST_CASE_FIXTURE(Watched, "data_watcher: what nobody follows is not asked for again") {
  watch();
  const auto known = (**follow(1))->data->digest;
  const auto waits = follow(1, known);
  tell(watcher, Unfollow{{app}, 1});
  CHECK((*waits)->error() == Error{Errc::cancelled, "not followed any more"});
  const int before = data_questions;
  set_variable("app", {{"port", "80"}});
  CHECK(data_questions == before);
  CHECK(held_data.empty());
}

TEST_CASE_FIXTURE(Watched, "data_watcher: failed questions are asked again, later each time") {
  watch();
  data_refusal = Error{Errc::unavailable, "No servers"};
  const auto news = follow(1);
  advance(10s);
  CHECK(data_questions == 6);  // At 0, 0.25, 0.75, 1.75, 3.75 and 7.75 seconds.
  CHECK_FALSE(news->has_value());
  data_refusal.reset();
  advance(10s);
  CHECK(news->has_value());
}

TEST_CASE_FIXTURE(Watched, "data_watcher: a refusal is told, and asking goes on as before") {
  watch();
  data_refusal = Error{Errc::permission_denied, "Permission denied"};
  const auto refused = follow(1);
  REQUIRE(refused->has_value());
  CHECK((*refused)->error() == *data_refusal);
  const auto waits = follow(1);
  CHECK(data_questions == 1);
  CHECK_FALSE(waits->has_value());
  data_refusal.reset();
  set_variable("app", {{"port", "80"}});
  advance(1s);
  REQUIRE(waits->has_value());
  CHECK((**waits)->data->variable->items.at("port") == "80");
}

TEST_CASE_FIXTURE(Watched, "data_watcher: when the tries are used up, followers hear why") {
  settings.retry.attempts = 2;
  watch();
  data_refusal = Error{Errc::unavailable, "No servers"};
  const auto news = follow(1);
  advance(10s);
  CHECK(data_questions == 3);
  REQUIRE(news->has_value());
  CHECK((*news)->error().what == "No servers");
}
