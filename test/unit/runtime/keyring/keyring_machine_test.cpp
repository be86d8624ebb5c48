#include "runtime/keyring/keyring_machine.hpp"

#include <doctest/doctest.h>

#include "runtime/base/overloaded.hpp"

using namespace nomad;
using namespace nomad::keyring;
using namespace std::chrono_literals;
namespace act = nomad::keyring::keyring_action;

namespace {

/// A machine whose actions are read as words: "wrap k1, share k2".
struct Server {
  explicit Server(bool leads) {
    machine.lead(leads);
    done();
  }

  std::string done() {
    std::string text;
    for (const auto& action : machine.take()) {
      if (!text.empty()) text += ", ";
      text += std::visit(Overloaded{[](const act::Look&) { return std::string{"look"}; },
                                    [](const act::Register&) { return std::string{"register"}; },
                                    [](const act::MakeKey& it) {
                                      return std::string{it.is_published ? "publish" : "make"};
                                    },
                                    [](const act::Wrap& it) { return "wrap " + it.key_id; },
                                    [](const act::Share& it) {
                                      std::string all = "share";
                                      for (const auto& id : it.key_ids)
                                        all += ' ' + id;
                                      return all;
                                    },
                                    [](const act::DoDuties&) { return std::string{"duties"}; }},
                         action);
    }
    return text;
  }

  std::string look(const KeyringFacts& facts) {
    machine.look(facts, now);
    return done();
  }

  std::string tick() {
    now += 1s;
    machine.tick();
    return done();
  }

  std::string written(bool is_done, const KeyringMachine::Subject& of = {}) {
    machine.written(is_done, of, now);
    return done();
  }

  KeyringMachine machine;
  Nanoseconds now{1s};
};

KeyringFacts known(std::vector<KeyFacts> keys = {}) {
  return {.is_known = true, .keys = std::move(keys)};
}

KeyringFacts without_key() {
  auto facts = known();
  facts.needs_key = true;
  return facts;
}

}  // namespace

TEST_CASE("keyring_machine: a server is known before it does anything else") {
  Server server{true};
  KeyringFacts facts{.needs_key = true,
                     .keys = {{.id = "k1", .is_open = true, .lacks_wraps = true}}};
  CHECK(server.look(facts).empty());  // a wrapping key is being tried
  facts.may_register = true;
  CHECK(server.look(facts) == "register");
  server.machine.writing();
  CHECK(server.tick().empty());
  CHECK(server.written(true) == "look");
  facts.is_known = true;
  CHECK(server.look(facts) == "make, share k1");
}

TEST_CASE("keyring_machine: who does not lead looks at every third tick, and shares") {
  Server server{false};
  int looks = 0;
  for (int i = 0; i < 9; ++i)
    looks += server.tick() == "look" ? 1 : 0;
  CHECK(looks == 3);
  auto facts = known({{.id = "k1", .is_open = true, .lacks_key = true, .lacks_wraps = true},
                      {.id = "k2", .lacks_wraps = true}});
  facts.needs_key = true;
  facts.needs_next_key = true;
  CHECK(server.look(facts) == "share k1");
  server.machine.shared();
  CHECK(server.done().empty());
}

TEST_CASE("keyring_machine: duties wait for wraps that are written, and a look follows") {
  Server leader{true};
  CHECK(leader.look(known({{.id = "k1", .is_open = true, .lacks_wraps = true},
                           {.id = "k2", .is_open = true, .lacks_wraps = true}}))
        == "share k1 k2");
  leader.machine.writing();
  leader.machine.writing();
  leader.machine.shared();
  CHECK(leader.done().empty());
  CHECK(leader.written(true).empty());
  CHECK(leader.written(true) == "look");
  CHECK(leader.look(known()) == "share");
  leader.machine.shared();
  CHECK(leader.done() == "duties");
}

TEST_CASE("keyring_machine: a write that fails is tried at the next tick") {
  Server leader{true};
  CHECK(leader.look(known({{.id = "k1", .is_open = true, .lacks_wraps = true}})) == "share k1");
  leader.machine.writing();
  leader.machine.shared();
  CHECK(leader.written(false).empty());
  CHECK(leader.tick() == "look");
}

TEST_CASE("keyring_machine: one key is made at a time, and less and less often while it fails") {
  Server leader{true};
  CHECK(leader.look(without_key()) == "make, share");
  CHECK(leader.look(without_key()) == "share");
  int made = 0;
  leader.machine.made(false, leader.now);
  for (int i = 0; i < 600; ++i) {
    CHECK(leader.tick() == "look");
    if (leader.look(without_key()) == "share") continue;
    ++made;
    leader.machine.made(false, leader.now);
  }
  CHECK(made == 14);  // after 1, 2, 4, 8, 16 and 32 s, then each minute
  leader.machine.lead(true);
  CHECK(leader.done() == "look");
  CHECK(leader.look(without_key()) == "make, share");  // who leads anew begins anew
}

TEST_CASE("keyring_machine: a key whose row is refused is made anew after a pause") {
  Server leader{true};
  CHECK(leader.look(without_key()) == "make, share");
  leader.machine.made(true, leader.now);
  leader.machine.writing();
  CHECK(leader.written(false, {.is_new_key = true}).empty());
  CHECK(leader.look(without_key()) == "share");
  CHECK(leader.tick() == "look");
  CHECK(leader.look(without_key()) == "make, share");
  leader.machine.made(true, leader.now);
  leader.machine.writing();
  CHECK(leader.written(true, {.is_new_key = true}) == "look");
}

TEST_CASE("keyring_machine: the next key is published while there is one that signs") {
  Server leader{true};
  auto facts = known();
  facts.needs_next_key = true;
  CHECK(leader.look(facts) == "publish, share");
}

TEST_CASE("keyring_machine: a wrapping key that fails hinders neither its key's wraps nor others") {
  Server leader{true};
  const auto facts = known({{.id = "k1", .is_open = true, .lacks_key = true, .lacks_wraps = true},
                            {.id = "k2", .is_open = true, .lacks_key = true}});
  CHECK(leader.look(facts) == "wrap k1, wrap k2, share");
  CHECK(leader.look(facts) == "share k1");  // it is being asked
  leader.machine.wrapped("k1", false, leader.now);
  leader.machine.wrapped("k2", true, leader.now);
  leader.machine.writing();
  CHECK(leader.written(false, {.wrapped_key = "k2"}).empty());
  CHECK(leader.look(facts) == "share k1");
  CHECK(leader.tick() == "look");
  CHECK(leader.look(facts) == "wrap k1, wrap k2, share");
  leader.machine.wrapped("k1", false, leader.now);
  CHECK(leader.tick() == "look");
  CHECK(leader.look(facts) == "share k1");  // two seconds by now
  CHECK(leader.tick() == "look");
  CHECK(leader.look(facts) == "wrap k1, share");
  CHECK(leader.look(known({{.id = "k1", .is_open = true}})) == "share");
}
