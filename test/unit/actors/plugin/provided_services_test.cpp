// Providers of services that plugins bring, by way of the link.
#include "actors/plugin/provided_services.hpp"

#include <doctest/doctest.h>

#include "test/unit/actors/plugin/link_fixture.hpp"

using namespace nomad;
using namespace std::chrono_literals;
using client::service_provider::Began;
using client::service_provider::Check;
using client::service_provider::ChecksChanged;
using client::service_provider::Deregister;
using client::service_provider::Done;
using client::service_provider::Register;

namespace {

struct Book {
  std::vector<std::string> lines;
  std::string refusal;
  bool keeps_silent = false;
  std::vector<plugin::DoneReply> kept;
};

class Writer final : public plugin::ServiceProvider {
public:
  explicit Writer(Book& book) : book_{book} {}

  void register_services(const std::vector<plugin::Service>& services,
                         const plugin::DoneReply& reply) override {
    for (const auto& one : services)
      book_.lines.push_back("+ " + one.id + ' ' + one.task);
    settle(reply);
  }

  void deregister_services(const std::vector<std::string>& ids,
                           const plugin::DoneReply& reply) override {
    for (const auto& id : ids)
      book_.lines.push_back("- " + id);
    settle(reply);
  }

  void checks_changed(const std::string& alloc_id,
                      const std::vector<plugin::ServiceCheck>& checks) override {
    for (const auto& check : checks)
      book_.lines.push_back(
          alloc_id + ' ' + check.name
          + (check.status == plugin::ServiceCheck::Status::failing ? " fails" : " passes"));
  }

private:
  void settle(const plugin::DoneReply& reply) {
    if (book_.keeps_silent) return book_.kept.push_back(reply);
    if (book_.refusal.empty())
      reply({});
    else
      reply(Error{Errc::unavailable, book_.refusal});
  }

  Book& book_;
};

Register registration(const char* id) {
  Draft<schema::ServiceRegistration> draft;
  draft->setId(id);
  return {.provider = "filesd", .alloc_id = "a1", .task = "t", .services = {draft.freeze()}};
}

Deregister deregistration(const char* id) {
  return {.provider = "filesd", .alloc_id = "a1", .ids = {id}};
}

struct ProviderFixture : test::LinkFixture {
  Book book;

  plugin::PluginLink start_provider() {
    return start([this](plugin::Plugin& plugin) {
      plugin.is("p", "1").service_provider(
          {.name = "filesd", .hears_checks = true},
          [this](plugin::Agent&) { return std::make_unique<Writer>(book); });
    });
  }

  client::ServiceProvider provider() const { return providers->find("filesd")->provider; }

  void end_process() {
    plugin.events.ended({Errc::unavailable, "it hung up"});
    settle();
  }
};

}  // namespace

TEST_CASE_FIXTURE(ProviderFixture, "provided services: the plugin registers and deregisters") {
  start_provider();
  REQUIRE(providers->find("filesd"));
  CHECK(providers->find("filesd")->hears_checks);
  CHECK((**ask<Done>(provider(), registration("1"))).has_value());
  CHECK((**ask<Done>(provider(), deregistration("1"))).has_value());
  tell(provider(),
       ChecksChanged{
           "filesd",
           "a1",
           {{.task = "", .service = "", .name = "alive", .status = workload::CheckStatus::success},
            {.task = "",
             .service = "",
             .name = "ready",
             .status = workload::CheckStatus::failure}}});
  CHECK(book.lines
        == std::vector<std::string>{"+ 1 t", "- 1", "a1 alive passes", "a1 ready fails"});

  book.refusal = "no room";
  const auto refused = ask<Done>(provider(), deregistration("1"));
  REQUIRE(refused->has_value());
  CHECK((*refused)->error().what == "no room");
}

TEST_CASE_FIXTURE(ProviderFixture,
                  "provided services: who asked a process that ends is told so, who asks later is "
                  "answered by the next one, and watchers hear of that") {
  const auto heard = record<Began>();
  providers->watch(heard.handle);
  start_provider();
  CHECK(heard.seen->size() == 1);
  book.keeps_silent = true;
  const auto kept = ask<Done>(provider(), registration("1"));
  const auto owed = ask<Done>(provider(), deregistration("2"));
  book.keeps_silent = false;
  book.lines.clear();
  end_process();
  for (const auto& asked : {kept, owed}) {
    REQUIRE(asked->has_value());
    CHECK((*asked)->error().code == Errc::unavailable);
  }
  CHECK_MESSAGE(providers->find("filesd"), "jobs with it are still taken");
  const auto again = ask<Done>(provider(), deregistration("2"));
  CHECK_FALSE(again->has_value());

  advance(6s);
  CHECK(book.lines == std::vector<std::string>{"- 2"});
  REQUIRE(again->has_value());
  CHECK((*again)->has_value());
  REQUIRE(heard.seen->size() == 2);
  CHECK(heard.seen->at(1).provider == "filesd");
  book.kept.clear();  // Of a session that is over: it answers nobody.
}

TEST_CASE_FIXTURE(ProviderFixture, "provided services: an answer that is none is an error") {
  start_provider();
  plugin.mute = true;
  const auto asked = ask<Done>(provider(), registration("1"));
  CHECK_FALSE(asked->has_value());
  for (std::uint64_t number = 1; number < 8; ++number)  // Whichever it has.
    say([number](schema::plugin::Frame::Builder frame) {
      frame.setNumber(number);
      frame.initFacts();
    });
  settle();
  REQUIRE(asked->has_value());
  CHECK((*asked)->error().what == "it answered something else than that it is done");
}

TEST_CASE_FIXTURE(ProviderFixture, "provided services: a name of another plugin is refused") {
  REQUIRE(providers->enter("filesd", {.plugin = "other"}));
  start_provider();
  CHECK(status().state == plugin::PluginState::refused);
  CHECK(status().problem == "there is a provider of services \"filesd\" already");
  CHECK(providers->find("filesd")->plugin == "other");
}

TEST_CASE_FIXTURE(ProviderFixture, "provided services: one that ends is forgotten") {
  const auto link = start_provider();
  const auto whom = provider();
  ask<plugin::plugin_link::Stopped>(link, plugin::plugin_link::Stop{});
  CHECK_FALSE(providers->find("filesd"));
  const auto late = ask<Done>(whom, deregistration("1"));
  REQUIRE(late->has_value());
  CHECK((*late)->error().code == Errc::unavailable);
}
