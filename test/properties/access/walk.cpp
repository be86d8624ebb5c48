#include "test/properties/access/walk.hpp"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "runtime/base/random.hpp"
#include "test/properties/access/book.hpp"
#include "test/properties/access/forms.hpp"
#include "test/properties/access/walk_world.hpp"
#include "test/unit/actors/api/acl/sign_ins.hpp"

namespace nomad::properties {

using access::Capability;

namespace {

constexpr std::array<const char*, 3> walk_namespaces{"a", "b", "default"};
constexpr std::array<const char*, 4> walk_paths{"x", "x/y", "nomad/jobs", "nomad/jobs/web"};
constexpr std::array<const char*, 3> walk_jobs{"web", "cron", "call"};
constexpr std::array<const char*, 5> walk_policies{"p0", "p1", "p2", "anonymous", "theirs"};
constexpr std::array<const char*, 2> walk_pools{"gpu", "cpu"};
constexpr const char* walker_name = "walker";
constexpr std::size_t most_held = 10;

/// A token that the walker has.
struct Held {
  std::string accessor;  ///< "": he shows none.
  std::string secret;
  access::RightsRef checked = {};  ///< These rights were compared with the book,
  std::uint64_t version = 0;       ///< which was of that version.
};

class Walk {
public:
  Walk(std::uint64_t seed, WalkCounts& counts);

  /// What went wrong in the next step; "": nothing.
  std::string step();

private:
  template <class List>
  auto one_of(const List& list) {
    return list[random_.below(std::size(list))];
  }

  // What managers do.
  void manage();
  void put_policy();
  void put_role();
  void make_token();
  void change_token();
  void put_binding();
  void put_things();
  PlainPolicy draw_policy();
  std::set<std::string> draw_names();
  std::string some_role();
  std::string some_token();
  std::string held_body(const Holder& holder, const std::string& accessor) const;

  // What the walker does.
  std::string ask();
  std::string value_of(std::string_view place, const Held& as);
  std::string fill(std::string_view form, const Held& as);
  std::string some_job();
  void learn(const RequestForm& form, const WalkAnswer& answer);
  std::string look(const Held& as, const std::string& body) const;
  std::string judge_change(const Held& as, const WalkImage& before, const WalkImage& after) const;
  bool may_change(const Holder& who, const std::string& what) const;

  std::string compare();
  Holder holder_of(const Held& held) const;

  Random random_;
  WalkCounts& counts_;
  WalkWorld world_;
  test::Signer signer_ = test::Signer::ec("P-256");
  test::Signer stranger_ = test::Signer::ec("P-256");
  Book book_;
  std::vector<Held> held_;
  std::vector<std::string> others_;     ///< Secrets that are not his.
  std::vector<std::string> one_times_;  ///< That he has made.
  WalkImage image_;
};

Walk::Walk(std::uint64_t seed, WalkCounts& counts) : random_{seed}, counts_{counts} {
  held_.push_back({});
  others_.push_back(world_.manager);
  world_.manage("PUT", "/v1/acl/auth-method/m",
                R"({"Name":"m","Type":"JWT","TokenLocality":"local","MaxTokenTTL":"1h",
                    "Config":{"SigningAlgs":["ES256"],"ClaimMappings":{"sub":"user"},
                              "JWTValidationPubKeys":[)"
                    + api::json_text(signer_.pem()) + "]}}");
  for (int i = 0; i < 3; ++i)
    put_policy();
  put_role();
  for (int i = 0; i < 3; ++i)
    make_token();
  put_things();
  image_ = world_.image();
}

// -- managers -------------------------------------------------------------------------------------

PlainPolicy Walk::draw_policy() {
  PlainPolicy policy;
  for (auto namespaces = random_.below(2) + 1; namespaces > 0; --namespaces) {
    const std::string ns = one_of(walk_namespaces);
    const auto first = static_cast<std::uint64_t>(Capability::list_jobs);
    const auto words = static_cast<std::uint64_t>(Capability::submit_recommendation) - first + 1;
    for (auto count = random_.below(10); count > 0; --count)
      policy.rights.insert({static_cast<Capability>(first + random_.below(words)), ns});
    if (random_.chance(0.1)) policy.denied.insert(ns);
    for (auto count = random_.below(7); count > 0; --count)
      policy.rights.insert(
          {one_of(std::array{Capability::variables_list, Capability::variables_read,
                             Capability::variables_write, Capability::variables_destroy}),
           ns, one_of(walk_paths)});
  }
  for (const auto& [read, write] : {std::pair{Capability::node_read, Capability::node_write},
                                    {Capability::agent_read, Capability::agent_write},
                                    {Capability::operator_read, Capability::operator_write},
                                    {Capability::quota_read, Capability::quota_write}}) {
    if (!random_.chance(0.25)) continue;
    policy.rights.insert({read});
    if (random_.chance(0.5)) policy.rights.insert({write});
  }
  if (random_.chance(0.2))
    policy.rights.insert({one_of(std::array{Capability::node_pool_read, Capability::node_pool_write,
                                            Capability::node_pool_delete}),
                          {},
                          {},
                          one_of(walk_pools)});
  // A text without a rule is no policy.
  if (policy.rights.empty() && policy.denied.empty())
    policy.rights.insert({Capability::list_jobs, "a"});
  return policy;
}

void Walk::put_policy() {
  const std::string name = one_of(walk_policies);
  auto policy = draw_policy();
  world_.manage(
      "PUT", "/v1/acl/policy/" + name,
      fmt::format(R"({{"Name":"{}","Rules":{}}})", name, api::json_text(rules_of(policy))));
  book_.policies[name] = std::move(policy);
}

std::set<std::string> Walk::draw_names() {
  std::set<std::string> names;
  for (auto count = random_.below(2) + 1; count > 0; --count)
    names.insert(one_of(std::array{"p0", "p1", "p2"}));
  return names;
}

std::string linked(const std::set<std::string>& names, const char* member) {
  std::string out;
  for (const auto& name : names)
    out += fmt::format("{}{{\"{}\":\"{}\"}}", out.empty() ? "" : ",", member, name);
  return out;
}

void Walk::put_role() {
  std::set<std::string> policies;
  for (const auto& name : draw_names())
    if (book_.policies.contains(name)) policies.insert(name);
  if (policies.empty()) return put_policy();
  const auto id = random_.chance(0.5) ? some_role() : "";
  const bool is_new = !book_.roles.contains(id);
  const auto name = is_new ? fmt::format("role-{}", random_.next()) : book_.roles.at(id).name;
  const auto target = is_new ? "/v1/acl/role" : "/v1/acl/role/" + id;
  const auto made = world_.manage(
      "PUT", target,
      fmt::format(R"({{{}"Name":"{}","Policies":[{}]}})",
                  is_new ? "" : fmt::format(R"("ID":"{}",)", id), name, linked(policies, "Name")));
  book_.roles[walk_text(made, "ID")] = {name, policies};
}

std::string Walk::some_role() {
  if (book_.roles.empty()) return api::uuid(5);
  auto place = book_.roles.begin();
  std::advance(place, static_cast<std::ptrdiff_t>(random_.below(book_.roles.size())));
  return place->first;
}

std::string Walk::some_token() {
  if (book_.tokens.empty()) return api::uuid(6);
  auto place = book_.tokens.begin();
  std::advance(place, static_cast<std::ptrdiff_t>(random_.below(book_.tokens.size())));
  return place->first;
}

std::string Walk::held_body(const Holder& holder, const std::string& accessor) const {
  std::string policies;
  for (const auto& name : holder.policies)
    policies += fmt::format("{}\"{}\"", policies.empty() ? "" : ",", name);
  return fmt::format(R"({{"AccessorID":"{}","Type":"client","Policies":[{}],"Roles":[{}]}})",
                     accessor, policies, linked(holder.roles, "ID"));
}

void Walk::make_token() {
  Holder holder{draw_names(), {}};
  if (!book_.roles.empty() && random_.chance(0.4)) holder.roles.insert(some_role());
  const bool is_his = random_.chance(0.7);
  if (!is_his) holder.policies.insert("theirs");
  const auto made = world_.manage("PUT", "/v1/acl/token", held_body(holder, ""));
  const auto accessor = walk_text(made, "AccessorID");
  book_.tokens[accessor] = std::move(holder);
  if (is_his)
    held_.push_back({accessor, walk_text(made, "SecretID")});
  else
    others_.push_back(walk_text(made, "SecretID"));
}

void Walk::change_token() {
  const auto accessor = some_token();
  if (!book_.tokens.contains(accessor)) return make_token();
  if (random_.chance(0.3)) {
    world_.manage("DELETE", "/v1/acl/token/" + accessor);
    book_.tokens.erase(accessor);
    return;
  }
  Holder holder{draw_names(), {}};
  world_.manage("PUT", "/v1/acl/token/" + accessor, held_body(holder, accessor));
  book_.tokens[accessor] = std::move(holder);
}

void Walk::put_binding() {
  PlainBinding binding{one_of(std::array{walker_name, "other", ""}), "policy",
                       one_of(walk_policies)};
  if (random_.chance(0.3)) binding.type = "role";
  if (binding.type == "role")
    binding.name = book_.roles.empty() ? "none" : book_.roles.at(some_role()).name;
  if (binding.user == "other" && random_.chance(0.5)) {
    binding.type = "management";
    binding.name = "";
  }
  const auto selector
      = binding.user.empty() ? "" : fmt::format("value.user == \"{}\"", binding.user);
  const auto made = world_.manage(
      "PUT", "/v1/acl/binding-rule",
      fmt::format(R"({{"AuthMethod":"m","BindType":"{}","BindName":"{}","Selector":{}}})",
                  binding.type, binding.name, api::json_text(selector)));
  book_.bindings[walk_text(made, "ID")] = std::move(binding);
}

/// What others have, with words in it that only who may read it is to see.
void Walk::put_things() {
  for (const std::string ns : walk_namespaces) {
    for (const std::string path : walk_paths)
      if (random_.chance(0.7))
        world_.manage("PUT", fmt::format("/v1/var/{}?namespace={}", path, ns),
                      fmt::format(R"({{"Items":{{"k":"canary {} {};"}}}})", ns, path));
    world_.manage("PUT", "/v1/jobs",
                  fmt::format(R"({{"Job":{{"ID":"{}","Name":"n","Namespace":"{}","Type":"batch",
                      "Datacenters":["dc1"],"Meta":{{"canary":"yes"}},
                      "ParameterizedJob":{{"Payload":"optional"}},
                      "TaskGroups":[{{"Name":"g","Count":1,"Tasks":[{{"Name":"t",
                      "Driver":"raw_exec","Config":{{"command":"/bin/true"}},
                      "Env":{{"k":"job canary {};"}}}}]}}]}}}})",
                              one_of(walk_jobs), ns, ns));
  }
}

void Walk::manage() {
  ++counts_.managed;
  ++book_.version;
  switch (random_.below(8)) {
    case 0:
    case 1:
      put_policy();
      break;
    case 2: {
      const std::string name = one_of(walk_policies);
      world_.manage("DELETE", "/v1/acl/policy/" + name);
      book_.policies.erase(name);
      break;
    }
    case 3:
      put_role();
      break;
    case 4:
      if (const auto id = some_role(); book_.roles.contains(id) && random_.chance(0.3)) {
        world_.manage("DELETE", "/v1/acl/role/" + id);
        book_.roles.erase(id);
        break;
      }
      put_things();
      break;
    case 5:
      make_token();
      break;
    case 6:
      change_token();
      break;
    default:
      if (book_.bindings.size() < 5) return put_binding();
      world_.manage("DELETE", "/v1/acl/binding-rule/" + book_.bindings.begin()->first);
      book_.bindings.erase(book_.bindings.begin());
      break;
  }
}

// -- the walker -----------------------------------------------------------------------------------

std::string Walk::some_job() {
  return fmt::format(R"({{"ID":"{}","Name":"n","Namespace":"{}","Type":"batch",
      "Datacenters":["dc1"],"Meta":{{"mine":"{}"}},"ParameterizedJob":{{"Payload":"optional"}},
      "TaskGroups":[{{"Name":"g","Count":{},"Tasks":[{{"Name":"t","Driver":"raw_exec",
      "Config":{{"command":"/bin/true"}}}}]}}]}})",
                     one_of(walk_jobs), one_of(walk_namespaces), random_.below(3),
                     random_.below(3));
}

std::string Walk::value_of(std::string_view place, const Held& as) {
  if (place == "ns") return one_of(walk_namespaces);
  if (place == "path") return one_of(walk_paths);
  if (place == "job") return one_of(walk_jobs);
  if (place == "job_body") return some_job();
  if (place == "policy") return one_of(walk_policies);
  if (place == "pool") return one_of(walk_pools);
  if (place == "role") return random_.chance(0.5) ? some_role() : api::uuid(5);
  if (place == "accessor")
    return random_.chance(0.3) && !as.accessor.empty() ? as.accessor : some_token();
  if (place == "secret") return one_of(held_).secret;
  if (place == "one_time") return one_times_.empty() ? api::uuid(4) : one_of(one_times_);
  if (place == "node") return api::own_node;
  if (place == "number") return std::to_string(random_.below(3));
  if (place == "rules") return R"(namespace \"*\" { policy = \"write\" })";
  if (place == "word")
    return std::string{access::word_of(static_cast<Capability>(
        random_.below(static_cast<std::uint64_t>(Capability::management)) + 1))};
  if (place == "jwt") {
    const auto who = random_.chance(0.6) ? walker_name : "other";
    const auto claims = api::soon(fmt::format(R"(,"sub":"{}")", who));
    // What is signed for others is others'; he can only forge it.
    const bool is_his = who == walker_name && random_.chance(0.8);
    return (is_his ? signer_ : stranger_).token("ES256", claims);
  }
  return api::uuid(7);
}

std::string Walk::fill(std::string_view form, const Held& as) {
  std::string out;
  while (!form.empty()) {
    const auto end = form.find_first_not_of("abcdefghijklmnopqrstuvwxyz_", 1);
    if (form.front() == '{' && end != std::string_view::npos && end > 1 && form[end] == '}') {
      out += value_of(form.substr(1, end - 1), as);
      form.remove_prefix(end + 1);
    } else {
      out += form.front();
      form.remove_prefix(1);
    }
  }
  return out;
}

Holder Walk::holder_of(const Held& held) const {
  if (held.accessor.empty()) return {{"anonymous"}, {}};
  const auto found = book_.tokens.find(held.accessor);
  return found == book_.tokens.end() ? Holder{} : found->second;
}

/// What is his from now on.
void Walk::learn(const RequestForm& form, const WalkAnswer& answer) {
  if (!answer.is_good()) return;
  if (form.target == "/v1/acl/token/onetime") {
    one_times_.push_back(
        walk_text(boost::json::parse(answer.body).at("OneTimeToken"), "OneTimeSecretID"));
  } else if (form.target == "/v1/acl/token/onetime/exchange") {
    const auto token = boost::json::parse(answer.body).at("Token");
    held_.push_back({walk_text(token, "AccessorID"), walk_text(token, "SecretID")});
  } else if (form.target == "/v1/acl/login") {
    ++counts_.logins;
    ++book_.version;
    const auto token = boost::json::parse(answer.body);
    const auto accessor = walk_text(token, "AccessorID");
    book_.tokens[accessor] = book_.bound(walker_name);
    held_.push_back({accessor, walk_text(token, "SecretID")});
  }
  if (held_.size() > most_held) held_.erase(held_.begin() + 1);  // the first shows none
}

/// What an answer shows that is not for him.
std::string Walk::look(const Held& as, const std::string& body) const {
  for (const auto& secret : others_)
    if (body.find(secret) != std::string::npos) return "the secret of another's token";
  if (body.find("canary") == std::string::npos) return {};
  const auto who = holder_of(as);
  const auto sees = [&](const std::string& words) { return body.find(words) != std::string::npos; };
  for (const std::string ns : walk_namespaces) {
    const bool knows = book_.may(who, {Capability::read_job, ns})
                       || book_.may(who, {Capability::submit_job, ns});
    if (!knows && sees("job canary " + ns + ';')) return "a job of namespace " + ns;
    for (const std::string path : walk_paths)
      if (sees(fmt::format("\"canary {} {};", ns, path))
          && !book_.may(who, {Capability::variables_read, ns, path}))
        return fmt::format("variable {} of namespace {}", path, ns);
  }
  return {};
}

bool Walk::may_change(const Holder& who, const std::string& what) const {
  const auto may = [&](Capability one, const std::string& ns = {}, const std::string& path = {}) {
    return book_.may(who, {one, ns, path});
  };
  const auto first = what.find(' ');
  const auto second = what.find(' ', first + 1);
  const auto ns = what.substr(first + 1, second - first - 1);
  if (what.starts_with("var ")) {
    const auto path = what.substr(second + 1);
    return may(Capability::variables_write, ns, path)
           || may(Capability::variables_destroy, ns, path);
  }
  if (what.starts_with("job "))
    return may(Capability::submit_job, ns) || may(Capability::dispatch_job, ns)
           || may(Capability::scale_job, ns);
  if (what == "table nodes") return may(Capability::node_write);
  if (what == "table quotas") return may(Capability::quota_write);
  if (what == "table scheduler_config") return may(Capability::operator_write);
  if (what == "table node_pools")
    return std::ranges::any_of(walk_pools, [&](const char* pool) {
      return book_.may(who, {Capability::node_pool_write, {}, {}, pool})
             || book_.may(who, {Capability::node_pool_delete, {}, {}, pool});
    });
  return false;
}

/// What has changed that he may not change.
std::string Walk::judge_change(const Held& as,
                               const WalkImage& before,
                               const WalkImage& after) const {
  const auto who = holder_of(as);
  const auto is_same = [](const WalkImage& image, const auto& entry) {
    const auto found = image.find(entry.first);
    return found != image.end() && found->second == entry.second;
  };
  for (const auto* side : {&before, &after})
    for (const auto& entry : *side)
      if (!is_same(side == &before ? after : before, entry) && !may_change(who, entry.first))
        return entry.first;
  return {};
}

std::string Walk::ask() {
  const auto& form = request_forms[random_.below(std::size(request_forms))];
  const auto as = one_of(held_);
  const auto method = std::string{form.method};
  const auto target = fill(form.target, as);
  const auto body = fill(form.body, as);
  const auto name = fmt::format("{} {}", form.method, form.target);
  const auto index = world_.state().index;
  const auto answer = world_.ask(method, target, body, as.secret);
  const auto said = [&](const std::string& what) {
    return fmt::format("{} {} {} by {} was answered {}: {}", method, target, body,
                       as.accessor.empty() ? "nobody" : as.accessor, answer.status, what);
  };
  ++counts_.tried[name];
  if (answer.status == 0) return said("nothing");
  if (answer.status >= 500 && answer.body.find("acl token lookup failed") == std::string::npos
      && answer.status != 501)
    return said("it failed: " + answer.body);
  if (answer.is_good()) ++counts_.allowed[name];
  if (const auto shown = look(as, answer.body); !shown.empty()) return said("it shows " + shown);
  if (world_.state().index != index) {
    ++counts_.changes;
    auto after = world_.image();
    if (answer.is_good() && form.target == "/v1/acl/login")
      image_["table acl_tokens"] = after["table acl_tokens"];
    const auto changed = judge_change(as, image_, after);
    if (!changed.empty()) return said("it has changed " + changed);
    image_ = std::move(after);
  }
  learn(form, answer);
  if (const auto more = compare(); !more.empty()) return said(more);
  return {};
}

/// All that a right can be of in a walk, and what is of nothing there.
const std::vector<Right>& all_rights() {
  static const auto all = [] {
    std::vector<Right> rights;
    for (auto number = static_cast<int>(Capability::list_jobs);
         number <= static_cast<int>(Capability::management); ++number) {
      const auto one = static_cast<Capability>(number);
      const bool is_of_pool
          = one >= Capability::node_pool_read && one <= Capability::node_pool_delete;
      const bool is_of_variable
          = one >= Capability::variables_list && one <= Capability::variables_destroy;
      if (is_of_pool)
        for (const auto* pool : walk_pools)
          rights.push_back({one, {}, {}, pool});
      else if (is_of_variable)
        for (const auto* ns : walk_namespaces)
          for (const auto* path : walk_paths)
            rights.push_back({one, ns, path});
      else if (access::is_namespaced(one))
        for (const auto* ns : walk_namespaces)
          rights.push_back({one, ns});
      else
        rights.push_back({one});
    }
    return rights;
  }();
  return all;
}

/// What one of his tokens gives beyond the book.
std::string Walk::compare() {
  for (auto& held : held_) {
    auto rights = world_.rights_of(held.secret);
    if (rights == held.checked && held.version == book_.version) continue;
    held.checked = rights;
    held.version = book_.version;
    if (!rights) continue;
    const auto who = holder_of(held);
    for (const auto& right : all_rights())
      if (rights->allow(right.capability,
                        {.ns = right.ns, .path = right.path, .node_pool = right.pool})
          && !book_.may(who, right))
        return fmt::format("token {} has {} {} {}{}",
                           held.accessor.empty() ? "(none)" : held.accessor,
                           access::word_of(right.capability), right.ns, right.path, right.pool);
  }
  return {};
}

std::string Walk::step() {
  if (!random_.chance(0.1)) return ask();
  manage();
  image_ = world_.image();
  return compare();
}

}  // namespace

std::string walk(std::uint64_t seed, std::uint64_t steps, WalkCounts& counts) {
  Walk walk{seed, counts};
  for (std::uint64_t at = 0; at < steps; ++at)
    if (const auto found = walk.step(); !found.empty())
      return fmt::format("seed {}, step {}: {}", seed, at, found);
  return {};
}

}  // namespace nomad::properties
