#include "runtime/plugin/declared.hpp"

#include <set>

#include <fmt/format.h>

#include "runtime/object/draft.hpp"
#include "runtime/plugin/plugin_file.hpp"
#include "runtime/plugin/said.hpp"

namespace nomad::plugin {
namespace {

using schema::plugin::Declaration;
using Fields = capnp::List<schema::plugin::ConfigField>::Reader;

constexpr unsigned deepest_field = 8;
constexpr std::size_t most_bytes = 256;
constexpr std::int64_t longest_time = std::int64_t{365} * 24 * 3600 * 1'000'000'000;  // a year
constexpr auto last_phase = schema::plugin::Phase::STOP;
constexpr auto last_kind = schema::plugin::ConfigField::Kind::ANY;

Error wrong(std::string why) {
  return {Errc::invalid_argument, "it declares nonsense: " + std::move(why)};
}

/// Names of one kind: of the grammar, none twice, and not too many.
class Names {
public:
  explicit Names(std::string_view kind) : kind_{kind} {}

  Result<> add(std::string_view name) {
    if (!is_plugin_name(name))
      return wrong(fmt::format("\"{}\" can't be the name of a {}: [a-z][a-z0-9_-]*",
                               said(name, most_bytes), kind_));
    if (!seen_.emplace(name).second)
      return wrong(fmt::format("two {}s are named \"{}\"", kind_, name));
    if (seen_.size() > most_of_a_kind)
      return wrong(fmt::format("it has more than {} {}s", most_of_a_kind, kind_));
    return {};
  }

private:
  std::string_view kind_;
  std::set<std::string, std::less<>> seen_;
};

Result<> check_fields(Fields fields, unsigned depth, unsigned& count) {
  if (depth > deepest_field) return wrong("its configuration is nested too deeply");
  std::set<std::string_view> names;
  for (const auto field : fields) {
    const auto name = view(field.getName());
    if (++count > most_fields)
      return wrong(fmt::format("its configuration has more than {} fields", most_fields));
    if (name.empty() || said(name, most_bytes) != name)
      return wrong(
          fmt::format("a field of its configuration is named \"{}\": expected 1 to {} "
                      "bytes that can be shown",
                      said(name, most_bytes), most_bytes));
    if (!names.insert(name).second)
      return wrong(fmt::format("two fields of its configuration are named \"{}\"", name));
    if (field.getKind() > last_kind)
      return wrong(fmt::format("config.{} has a kind that this agent does not know", said(name)));
    NOMAD_TRY(check_fields(field.getFields(), depth + 1, count));
  }
  return {};
}

/// `${…}` of something, and nothing else.
bool is_target(std::string_view text) {
  return text.size() > 3 && text.size() <= most_bytes && text.starts_with("${")
         && text.find('}') == text.size() - 1 && said(text) == text;
}

Result<> check_scheduler(Declaration::Scheduler::Reader scheduler) {
  const auto type = view(scheduler.getType());
  if (type == "service" || type == "batch" || type == "system" || type == "sysbatch")
    return Error{Errc::conflict,
                 fmt::format("jobs of type \"{}\" are scheduled by the servers", type)};
  if (scheduler.getReads().size() > most_reads)
    return wrong(fmt::format("the scheduler of type \"{}\" reads more than {} things of nodes",
                             type, most_reads));
  for (const auto target : scheduler.getReads())
    if (!is_target(view(target)))
      return wrong(
          fmt::format("the scheduler of type \"{}\" reads \"{}\": expected one such as "
                      "${{meta.rack}}",
                      type, said(view(target), most_bytes)));
  return {};
}

Result<> check_hook(Declaration::Hook::Reader hook) {
  const auto name = view(hook.getName());
  if (hook.getPhases().size() == 0)
    return wrong(fmt::format("hook \"{}\" is asked in no phase", name));
  for (const auto phase : hook.getPhases())
    if (phase > last_phase)
      return wrong(fmt::format("hook \"{}\" has a phase that this agent does not know", name));
  if (hook.getPatience() < 0 || hook.getPatience() > longest_time)
    return wrong(fmt::format("the patience of hook \"{}\" is not between 0 and a year", name));
  if (view(hook.getAnnouncement()).size() > most_bytes || view(hook.getMeta()).size() > most_bytes
      || view(hook.getDevices()).size() > 2 * most_bytes)
    return wrong(fmt::format("a text of hook \"{}\" is too long", name));
  return {};
}

}  // namespace

Result<> check_declaration(Declaration::Reader declaration, std::string_view name) {
  if (declaration.getLinkVersion() != link_version)
    return Error{Errc::rejected, fmt::format("it speaks version {} of the protocol, this agent {}",
                                             declaration.getLinkVersion(), link_version)};
  if (view(declaration.getName()) != name)
    return Error{Errc::rejected,
                 fmt::format("it calls itself \"{}\", and its file is that of \"{}\"",
                             said(view(declaration.getName()), most_bytes), name)};
  for (const auto shown : {view(declaration.getVersion()), view(declaration.getSdk())})
    if (shown.size() > most_bytes || said(shown) != shown)
      return wrong("its version is too long, or can't be shown");
  unsigned fields = 0;
  NOMAD_TRY(check_fields(declaration.getConfig(), 1, fields));
  Names hooks{"hook"}, drivers{"driver"}, fingerprinters{"fingerprinter"}, actors{"actor"},
      schedulers{"scheduler"}, providers{"provider of service"};
  for (const auto hook : declaration.getHooks()) {
    NOMAD_TRY(hooks.add(view(hook.getName())));
    NOMAD_TRY(check_hook(hook));
  }
  for (const auto driver : declaration.getDrivers())
    NOMAD_TRY(drivers.add(view(driver)));
  for (const auto each : declaration.getFingerprinters()) {
    NOMAD_TRY(fingerprinters.add(view(each.getName())));
    if (each.getInterval() < 0 || each.getInterval() > longest_time)
      return wrong(fmt::format("the interval of fingerprinter \"{}\" is not between 0 and a year",
                               view(each.getName())));
  }
  for (const auto actor : declaration.getActors())
    NOMAD_TRY(actors.add(view(actor)));
  for (const auto scheduler : declaration.getSchedulers()) {
    NOMAD_TRY(schedulers.add(view(scheduler.getType())));
    NOMAD_TRY(check_scheduler(scheduler));
  }
  for (const auto provider : declaration.getServiceProviders()) {
    const auto name = view(provider.getName());
    NOMAD_TRY(providers.add(name));
    if (name == "nomad" || name == "consul")
      return Error{Errc::conflict, fmt::format("the provider \"{}\" is built in", name)};
  }
  return {};
}

}  // namespace nomad::plugin
