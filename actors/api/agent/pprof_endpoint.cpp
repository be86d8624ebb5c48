// /v1/agent/pprof: profiles of this program, as `go tool pprof` reads them. Tests: pprof_test.
#include <algorithm>
#include <memory>

#include "actors/api/http/call.hpp"
#include "actors/api/http/routes.hpp"
#include "runtime/base/files/bounded.hpp"
#include "runtime/base/whole_number.hpp"
#include "runtime/telemetry/cpu_profiler.hpp"
#include "runtime/telemetry/heap_profiler.hpp"

namespace nomad::api {
namespace {

constexpr std::int64_t most_seconds = 60;

/// Where nobody needs rights, the operator says whether all may see this.
Result<> may_profile(const Call& call, const AgentInfo& agent) {
  if (!call.context->authenticator->enforces() && !agent.enable_debug)
    return Error{Errc::permission_denied, "Permission denied"};
  return {};
}

/// A number that is none is passed over, as by net/pprof; so is one that makes no sense.
std::int64_t seconds_of(const net::Request& request) {
  const auto given = whole_number<std::int64_t>(request.parameter_or_empty("seconds"));
  return std::clamp<std::int64_t>(given.value_or(1), 1, most_seconds);
}

Answer as_file(std::string body, std::string_view name) {
  Answer answer;
  answer.body = std::move(body);
  answer.content_type = "application/octet-stream";
  answer.headers = {{"Content-Disposition", "attachment; filename=\"" + std::string{name} + '"'},
                    {"X-Content-Type-Options", "nosniff"}};
  return answer;
}

/// The words that the program was called with; secrets in them are hidden since its start.
Outcome show_command_line(Call& call, const AgentInfo& agent) {
  NOMAD_TRY(may_profile(call, agent));
  auto words = NOMAD_TRY(read_whole_file("/proc/self/cmdline"));
  if (words.ends_with('\0')) words.pop_back();
  Answer answer;
  answer.body = std::move(words);
  answer.content_type = "text/plain; charset=utf-8";
  answer.headers = {{"X-Content-Type-Options", "nosniff"}};
  return answer;
}

Outcome profile_cpu(Call& call, const AgentInfo& agent) {
  NOMAD_TRY(may_profile(call, agent));
  auto started = NOMAD_TRY(telemetry::CpuProfiler::start());
  const std::chrono::seconds time{seconds_of(call.request())};
  const auto profiler = std::make_shared<telemetry::CpuProfiler>(std::move(started));
  const auto shared = share(std::move(call));
  shared->context->timers.call_after(time, [shared, profiler] {
    run_on(shared->context->pool, shared, [profiler](Call&) -> Outcome {
      const auto profile = profiler->stop();
      const telemetry::FunctionNames names;
      auto bytes = NOMAD_TRY(telemetry::write_profile(
          profile, [&names](std::uint64_t address) { return names.at(address); }));
      return as_file(std::move(bytes), "profile");
    });
  });
  return later;
}

/// Of now; two of them show what came between.
Outcome show_heap(Call& call, const AgentInfo& agent, telemetry::HeapView view) {
  NOMAD_TRY(may_profile(call, agent));
  if (call.request().parameter("seconds"))
    return bad_request(
        "this program's memory is shown as it is now, without \"seconds\": compare two profiles by "
        "\"go tool pprof -diff_base\"");
  return on_pool(call, [view](Call&) -> Outcome {
    const auto profile = NOMAD_TRY(telemetry::heap_profile());
    const telemetry::FunctionNames names;
    auto bytes = NOMAD_TRY(telemetry::write_profile(
        profile, view, [&names](std::uint64_t address) { return names.at(address); }));
    return as_file(std::move(bytes), view == telemetry::HeapView::in_use ? "heap" : "allocs");
  });
}

Outcome profile_heap(Call& call, const AgentInfo& agent) {
  return show_heap(call, agent, telemetry::HeapView::in_use);
}

Outcome profile_allocs(Call& call, const AgentInfo& agent) {
  return show_heap(call, agent, telemetry::HeapView::allocated);
}

/// What a program of Go has besides.
Outcome refuse_profile(Call& call, const AgentInfo& agent) {
  if (call.rest.empty()) return Answer::text(404, "Invalid method");
  NOMAD_TRY(may_profile(call, agent));
  return not_found("Pprof profile not found profile: " + call.rest
                   + "; this program has \"cmdline\", \"profile\", of its processor time, and \"heap\" and "
                     "\"allocs\", of its memory");
}

}  // namespace

void add_pprof_routes(Routes& routes, AgentParts parts) {
  const auto with = routes.with(std::move(parts.agent));
  const auto add = [&](const std::string& name, Outcome (*run)(Call&, const AgentInfo&)) {
    routes.exact("/v1/agent/pprof/" + name,
                 {{Methods::get, Capability::agent_write, with(run), Where::named}});
  };
  add("cmdline", show_command_line);
  add("profile", profile_cpu);
  add("heap", profile_heap);
  add("allocs", profile_allocs);
  routes.below(
      "/v1/agent/pprof/",
      {{"", {{Methods::get, Capability::agent_write, with(refuse_profile), Where::named}}}});
}

}  // namespace nomad::api
