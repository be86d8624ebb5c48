#include "test/support/fake_engine.hpp"

#include <algorithm>

#include <unistd.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <fmt/format.h>

#include "runtime/docker/container_body.hpp"
#include "runtime/object/json_codec.hpp"

namespace nomad::test {

using boost::json::object;
using docker::EngineAnswer;
using docker::EngineRequest;

namespace {

std::string unescape(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i)
    if (text[i] == '%' && i + 2 < text.size()) {
      plain += static_cast<char>(std::stoi(std::string{text.substr(i + 1, 2)}, nullptr, 16));
      i += 2;
    } else {
      plain += text[i];
    }
  return plain;
}

std::string parameter(std::string_view query, std::string_view name) {
  for (std::size_t at = 0; at < query.size();) {
    const auto end = std::min(query.find('&', at), query.size());
    const auto one = query.substr(at, end - at);
    if (const auto equals = one.find('='); equals != one.npos && one.substr(0, equals) == name)
      return unescape(one.substr(equals + 1));
    at = end + 1;
  }
  return {};
}

EngineAnswer json_answer(const boost::json::value& body, unsigned status = 200) {
  return {status, boost::json::serialize(body)};
}

object labels_of(const FakeContainer& container) {
  object labels;
  for (const auto& [name, value] : container.labels)
    labels[name] = value;
  return labels;
}

EngineAnswer inspect(const FakeContainer& container) {
  return json_answer(
      object{{"Id", container.id},
             {"Name", "/" + container.name},
             {"Image", "sha256:" + container.image},
             {"State",
              {{"Status", container.status},
               {"Running", container.is_running()},
               {"ExitCode", container.exit_code},
               {"Pid", !container.is_running() ? 0
                       : container.pid != 0    ? container.pid
                                               : ::getpid()}}},
             {"Config", {{"Labels", labels_of(container)}, {"Tty", false}}},
             {"HostConfig", {{"NetworkMode", container.network_mode}}},
             {"NetworkSettings", {{"Networks", {{"bridge", {{"IPAddress", "172.17.0.2"}}}}}}}});
}

}  // namespace

EngineAnswer engine_refusal(unsigned status, std::string_view message) {
  return json_answer(object{{"message", message}}, status);
}

std::string FakeContainer::label(const char* name) const {
  const auto found = labels.find(name);
  return found == labels.end() ? std::string{} : found->second;
}

FakeContainer* FakeEngine::find(std::string_view id_or_name) {
  const auto found = std::ranges::find_if(containers, [id_or_name](const FakeContainer& each) {
    return each.id == id_or_name || each.name == id_or_name;
  });
  return found == containers.end() ? nullptr : &*found;
}

void FakeEngine::end(std::string_view id_or_name, int exit_code) {
  auto* const container = find(id_or_name);
  if (container == nullptr || !container->is_running()) return;
  container->status = "exited";
  container->exit_code = exit_code;
  on_end(*container);
}

void FakeEngine::forget(std::string_view id_or_name) {
  const auto* const container = find(id_or_name);
  if (container == nullptr) return;
  const auto id = container->id;
  end(id, 137);
  std::erase_if(containers, [&id](const FakeContainer& each) { return each.id == id; });
}

std::optional<EngineAnswer> FakeEngine::answer(const EngineRequest& request) {
  std::string_view path = request.target;
  std::string_view query;
  if (const auto mark = path.find('?'); mark != path.npos) {
    query = path.substr(mark + 1);
    path = path.substr(0, mark);
  }
  constexpr std::string_view of_containers = "/containers/";
  if (path == "/containers/create") {
    ++asked["POST /containers/create"];
    return create(query, request.body);
  }
  if (path == "/containers/json") return list(query);
  if (path == "/version")
    return json_answer(
        object{{"Version", "20.10"}, {"ApiVersion", "1.41"}, {"MinAPIVersion", "1.12"}});
  if (path == "/info") return json_answer(object{{"OSType", "linux"}, {"CgroupVersion", "1"}});
  if (path == "/networks/bridge") return json_answer(object{});
  if (path == "/events") return std::nullopt;
  if (path.starts_with("/images/")) return answer_image(request, path, query);
  if (!path.starts_with(of_containers)) return engine_refusal(404, "page not found");
  path.remove_prefix(of_containers.size());
  const auto slash = std::min(path.find('/'), path.size());
  const auto what = path.substr(slash);
  ++asked[fmt::format("{} /containers/{{}}{}", request.method, what)];
  const auto name = unescape(path.substr(0, slash));
  auto* const container = find(name);
  if (container == nullptr) return engine_refusal(404, "No such container: " + name);
  return answer_container(request, *container, what, query);
}

std::optional<EngineAnswer> FakeEngine::answer_container(const EngineRequest& request,
                                                         FakeContainer& container,
                                                         std::string_view what,
                                                         std::string_view query) {
  if (what == "/json") return inspect(container);
  if (what == "/start") {
    if (container.is_running()) return EngineAnswer{304, {}};
    on_start(container);
    container.status = "running";
    return EngineAnswer{204, {}};
  }
  if (what == "/wait") {
    if (container.is_running()) return std::nullopt;
    return json_answer(object{{"StatusCode", container.exit_code}});
  }
  if (what == "/logs") {
    if (parameter(query, "follow") == "1" && container.is_running()) return std::nullopt;
    return EngineAnswer{200, log};
  }
  if (what == "/stats") return json_answer(object{{"cpu_stats", {{"system_cpu_usage", 1}}}});
  if (what == "/kill" || what == "/stop") {
    if (!container.is_running()) return engine_refusal(409, "is not running");
    ++container.signals;
    if ((what == "/kill" && query.empty()) || obeys(container)) end(container.id, 0);
    return EngineAnswer{204, {}};
  }
  if (request.method != "DELETE") return engine_refusal(404, "page not found");
  forget(container.id);
  return EngineAnswer{204, {}};
}

EngineAnswer FakeEngine::create(std::string_view query, std::string_view body) {
  FakeContainer container{.id = fmt::format("{:012x}", ++ids_),
                          .name = parameter(query, "name"),
                          .image = {},
                          .network_mode = {},
                          .command = {},
                          .labels = {}};
  if (find(container.name) != nullptr) return engine_refusal(409, "the name is in use");
  const auto parsed = parse_json(body);
  const docker::Members members{parsed->get_object()};
  container.image = members.text("Image");
  container.command = members.texts("Cmd");
  container.labels = members.map("Labels");
  container.network_mode = members.object("HostConfig").text("NetworkMode");
  if (!images.contains(container.image)) return engine_refusal(404, "No such image");
  containers.push_back(container);
  return json_answer(object{{"Id", container.id}}, 201);
}

EngineAnswer FakeEngine::answer_image(const EngineRequest& request,
                                      std::string_view path,
                                      std::string_view query) {
  if (path == "/images/create") {
    const auto name = parameter(query, "fromImage") + ":" + parameter(query, "tag");
    ++asked["pull " + name];
    if (!registry.empty() && !registry.contains(name))
      return {200, R"({"error":"Error: image )" + name + " not found\"}\n"};
    images.insert(name);
    return {200, "{\"status\":\"Pulled\"}\n"};
  }
  auto name = unescape(path.substr(std::string_view{"/images/"}.size()));
  if (name.ends_with("/json")) name.resize(name.size() - 5);
  constexpr std::string_view digest = "sha256:";
  if (name.starts_with(digest)) name.erase(0, digest.size());
  if (!images.contains(name)) return engine_refusal(404, "No such image: " + name);
  if (request.method == "GET") return json_answer(object{{"Id", std::string{digest} + name}});
  if (std::ranges::any_of(containers, [&name](const auto& each) { return each.image == name; }))
    return engine_refusal(409, "the image is in use");
  images.erase(name);
  return {200, "[]"};
}

EngineAnswer FakeEngine::list(std::string_view query) const {
  const auto filters = parse_json(parameter(query, "filters"));
  std::vector<std::string> wanted;
  if (filters) wanted = docker::Members{filters->get_object()}.texts("label");
  boost::json::array all;
  for (const auto& container : containers) {
    const bool is_wanted = std::ranges::all_of(wanted, [&container](const std::string& each) {
      const auto equals = each.find('=');
      return container.label(each.substr(0, equals).c_str()) == each.substr(equals + 1);
    });
    if (!is_wanted) continue;
    all.push_back(object{{"Id", container.id},
                         {"Names", boost::json::array{"/" + container.name}},
                         {"Labels", labels_of(container)},
                         {"Created", 0},
                         {"State", container.status}});
  }
  return json_answer(all);
}

// -- the way to it --------------------------------------------------------------------------------

class FakeEngineLink final : public docker::Engine {
public:
  explicit FakeEngineLink(FakeEngineCalls& calls) : calls_{calls} {}

  ~FakeEngineLink() override {
    for (const auto id : mine_)
      calls_.calls_.erase(id);
  }

  void set_api(const std::string& version) override { api_ = version; }

  std::string api() const override { return api_; }

  CallId follow(EngineRequest request, Limits, Follower follower) override {
    // The id is known before the answer is, which may come at once.
    const auto id = calls_.begin(std::move(request), std::move(follower));
    mine_.insert(id);
    return id;
  }

  void cancel(CallId id) override { calls_.calls_.erase(id); }

private:
  FakeEngineCalls& calls_;
  std::set<CallId> mine_;
  std::string api_ = "1.41";
};

std::unique_ptr<docker::Engine> FakeEngineCalls::connect() {
  return std::make_unique<FakeEngineLink>(*this);
}

docker::Engine::CallId FakeEngineCalls::begin(EngineRequest request,
                                              docker::Engine::Follower follower) {
  const auto id = ++ids_;
  calls_[id] = {std::move(request), std::move(follower)};
  later([this, id] {
    if (const auto call = calls_.find(id); call != calls_.end()) call->second.has_arrived = true;
    serve(id);
    look_again();
  });
  return id;
}

void FakeEngineCalls::serve(docker::Engine::CallId id) {
  const auto call = calls_.find(id);
  if (call == calls_.end()) return;
  if (is_away)
    return end(id, Error{Errc::unavailable, "cannot connect to the Docker daemon"}, false);
  const auto request = call->second.request;
  if (holds(request)) return;
  const auto fate = this->fate(request);
  if (fate == Fate::refused) return end(id, engine_refusal(500, "no luck"), false);
  const auto answer = engine.answer(request);
  if (!answer) return;
  if (fate == Fate::lost)
    return end(id, Error{Errc::unavailable, "the Docker daemon hung up"}, false);
  end(id, *answer, fate == Fate::twice);
}

void FakeEngineCalls::end(docker::Engine::CallId id,
                          const Result<EngineAnswer>& outcome,
                          bool twice) {
  const auto call = calls_.extract(id);
  if (call.empty()) return;
  later([follower = call.mapped().follower, outcome, twice] {
    const bool is_success = outcome && outcome->status >= 200 && outcome->status < 300;
    if (is_success && follower.piece && !outcome->body.empty())
      if (const auto taken = follower.piece(outcome->body); !taken)
        return follower.ended(taken.error());
    follower.ended(outcome);
    if (twice) follower.ended(outcome);
  });
}

void FakeEngineCalls::look_again() {
  std::vector<docker::Engine::CallId> waiting;
  for (const auto& [id, call] : calls_)
    if (call.has_arrived) waiting.push_back(id);
  for (const auto id : waiting)
    serve(id);
}

void FakeEngineCalls::die() {
  is_away = true;
  for (auto& [id, call] : calls_)
    call.has_arrived = true;
  look_again();
}

void FakeEngineCalls::abandon(const std::function<bool()>& arrives) {
  for (const auto& [id, call] : std::exchange(calls_, {}))
    if (!call.has_arrived && !is_away && arrives()) engine.answer(call.request);
}

}  // namespace nomad::test
