// /v1/volumes, /v1/volume/csi/<id>, /v1/plugins and /v1/plugin/csi/<id>: what there is of volumes
// and of the plugins that they are of. Tests: volume_endpoint_test.
#include <algorithm>
#include <map>

#include "actors/api/allocs/alloc_json.hpp"
#include "actors/api/http/blocking_read.hpp"
#include "actors/api/http/list.hpp"
#include "actors/api/http/routes.hpp"
#include "actors/api/volumes/volume_operations.hpp"
#include "runtime/cluster/volumes/volume_answers.hpp"

namespace nomad::api {
namespace {

using state::Table;
using Volume = Object<schema::CsiVolume>;
using PluginRef = std::optional<state::CsiPlugin>;

/// An empty list, also without a type; of another type nothing is said.
Outcome list_none(Call& call, bool is_list) {
  return read_state(call, [is_list](const ReadOptions&) -> Result<Read> {
    return Read{
        .watch = {},
        .index = [](const View&) { return std::uint64_t{0}; },
        .answer = [is_list](const View&) { return is_list ? Answer::json("[]") : Answer{}; }};
  });
}

std::uint64_t plugins_index(const View& snapshot) {
  return std::max<std::uint64_t>(1, snapshot.index(Table::csi_plugins));
}

/// How a volume stands depends on its plugin, too.
std::uint64_t volumes_index(const View& snapshot) {
  return std::max(plugins_index(snapshot), snapshot.index(Table::csi_volumes));
}

/// The plugins that one answer names, each looked up once.
class Plugins {
public:
  const state::CsiPlugin* find(const View& snapshot, std::string_view id) {
    auto at = found_.find(id);
    if (at == found_.end()) at = found_.emplace(id, snapshot.csi_plugin(id)).first;
    return at->second ? &*at->second : nullptr;
  }

private:
  std::map<std::string, PluginRef, std::less<>> found_;
};

/// What a list asks for besides what all lists take.
struct VolumeQuery {
  std::string plugin_id;
  std::string node_id;  ///< Volumes that allocations of it use.

  bool wants(schema::CsiVolume::Reader volume) const {
    if (!plugin_id.empty() && view(volume.getPluginId()) != plugin_id) return false;
    if (node_id.empty()) return true;
    for (const auto claim : volume.getClaims())
      if (view(claim.getNodeId()) == node_id) return true;
    return false;
  }
};

Answer volume_page(const View& snapshot,
                   const ReadOptions& options,
                   const VolumeQuery& query,
                   const RowFilter& filter,
                   EarlyBody* early) {
  Plugins plugins;
  const auto stub_of = [&](const Volume& volume) {
    return cluster::volume_stub(*volume, plugins.find(snapshot, view(volume->getPluginId())));
  };
  return list_page(
      snapshot, &state::Snapshot::rows<state::kind::CsiVolumes>, walk_by_name(options), options,
      [&](const Volume& volume) -> Result<bool> {
        if (!view(volume->getId()).starts_with(options.prefix) || !query.wants(*volume))
          return false;
        return !filter || keeps(filter, stub_of(volume));
      },
      [](std::string_view, const Volume& volume) {
        return query::NameToken::make(view(volume->getNamespace()), view(volume->getId()));
      },
      [&](std::string& out, const Volume& volume) { append_json(out, stub_of(volume)); }, early);
}

Outcome list_volumes(Call& call) {
  const auto* const type = call.request().parameter("type");
  if (type == nullptr || *type != "csi") return list_none(call, type == nullptr);
  VolumeQuery query{std::string{call.request().parameter_or_empty("plugin_id")},
                    std::string{call.request().parameter_or_empty("node_id")}};
  return read_state(call, [query = std::move(query)](const ReadOptions& options) -> Result<Read> {
    const auto filter = NOMAD_TRY(compile_filter(options));
    const auto watched = options.all_namespaces() ? "" : state::join_key(options.ns, "");
    return Read{.watch = {state::watch_prefix(Table::csi_volumes, watched),
                          state::watch_prefix(Table::csi_plugins, "")},
                .index = volumes_index,
                .list =
                    [options, query, filter](const View& snapshot, EarlyBody* early) {
                      return volume_page(snapshot, options, query, filter, early);
                    },
                .is_heavy = is_long<&state::Snapshot::rows<state::kind::CsiVolumes>>};
  });
}

/// Stubs of allocations, as far as the caller sees them.
template <class Ids>
std::string alloc_stubs(const View& snapshot, const Ids& ids) {
  std::string out = "[";
  for (const auto& id : ids) {
    const auto row = snapshot.alloc(id);
    if (!row || !*row) continue;
    if (out.size() > 1) out += ',';
    append_alloc_stub(out, **row);
  }
  return out + ']';
}

Answer volume_answer(const View& snapshot, const Volume& volume) {
  std::vector<std::string> allocs;
  for (const auto claim : volume->getClaims())
    allocs.push_back(copy(claim.getAllocId()));
  const auto plugin = snapshot.csi_plugin(view(volume->getPluginId()));
  return Answer::json(to_json(
      cluster::volume_answer(volume, plugin ? &*plugin : nullptr, alloc_stubs(snapshot, allocs))));
}

Outcome read_volume(Call& call) {
  if (call.rest.empty()) return bad_request("missing volume id");
  return read_state(call, [id = call.rest](const ReadOptions& options) -> Result<Read> {
    const auto key = state::join_key(options.ns, id);
    return read_row<Table::csi_volumes>(
        key, "volume",
        [key](const View& snapshot) { return snapshot.row<state::kind::CsiVolumes>(key); },
        volume_answer);
  });
}

/// A plugin's id is its token: the list has no other order.
Answer plugin_page(const View& snapshot, const ReadOptions& options, const RowFilter& filter) {
  query::Page page{options.per_page};
  std::string out = "[";
  for (const auto& id : snapshot.csi_plugins(options.prefix)) {
    if (id < options.next_token) continue;
    const auto plugin = snapshot.csi_plugin(id);
    if (!plugin) continue;
    const auto stub = cluster::plugin_stub(*plugin);
    const auto kept = keeps(filter, stub);
    if (!kept) return Answer::error(kept.error());
    if (!*kept) continue;
    if (page.is_full()) {
      page.end_at(id);
      break;
    }
    if (page.count() != 0) out += ',';
    append_json(out, stub);
    page.add();
  }
  auto answer = Answer::json(out + ']');
  answer.next_token = page.next_token();
  return answer;
}

Outcome list_csi_plugins(Call& call) {
  const auto* const type = call.request().parameter("type");
  if (type != nullptr && *type != "csi") return list_none(call, false);
  return read_state(call, [](const ReadOptions& options) -> Result<Read> {
    const auto filter = NOMAD_TRY(compile_filter(options));
    return Read{.watch = {state::watch_prefix(Table::csi_plugins, options.prefix)},
                .index = plugins_index,
                .answer = [options, filter](const View& snapshot) {
                  return plugin_page(snapshot, options, filter);
                }};
  });
}

Answer plugin_answer(const View& snapshot, const state::CsiPlugin& plugin) {
  std::vector<std::string> allocs;
  for (const auto* instances : {&plugin.controllers, &plugin.nodes})
    for (const auto& one : *instances)
      allocs.push_back(copy(one.info.getAllocId()));
  std::ranges::sort(allocs);
  allocs.erase(std::unique(allocs.begin(), allocs.end()), allocs.end());
  return Answer::json(to_json(
      cluster::plugin_answer(plugin, alloc_stubs(snapshot.as(Capability::read_job), allocs))));
}

Outcome read_plugin(Call& call) {
  if (call.rest.empty()) return bad_request("missing plugin id");
  return read_state(call, [id = call.rest](const ReadOptions&) -> Result<Read> {
    return Read{.watch = {state::watch_key(Table::csi_plugins, id)},
                .index =
                    [id](const View& snapshot) {
                      const auto plugin = snapshot.csi_plugin(id);
                      return plugin ? plugin->modify_index : plugins_index(snapshot);
                    },
                .answer =
                    [id](const View& snapshot) {
                      const auto plugin = snapshot.csi_plugin(id);
                      return plugin ? plugin_answer(snapshot, *plugin)
                                    : Answer::error(not_found("plugin not found"));
                    }};
  });
}

}  // namespace

void add_volume_routes(Routes& routes, VolumeParts parts) {
  const auto with = routes.with(std::move(parts));
  constexpr auto lists = Capability::csi_list_volume;
  constexpr auto writes = Capability::csi_write_volume;
  routes.exact("/v1/volumes", {{Methods::get, lists, list_volumes},
                               {Methods::write, writes, with(register_volume)}});
  routes.exact("/v1/volumes/external", {{Methods::get, lists, with(list_external), Where::leader}});
  routes.exact("/v1/volumes/snapshot", {{Methods::get, lists, with(list_snapshots), Where::leader},
                                        {Methods::write, writes, with(create_snapshot)},
                                        {Methods::remove, writes, with(delete_snapshot)}});
  routes.below("/v1/volume/csi/",
               {{"/create", {{Methods::write, writes, with(create_volume)}}},
                {"/delete", {{Methods::remove, writes, with(delete_volume)}}},
                {"/detach", {{Methods::remove, Capability::csi_mount_volume, with(detach_volume)}}},
                {"",
                 {{Methods::get, Capability::csi_read_volume, read_volume},
                  {Methods::write, writes, with(register_volume)},
                  {Methods::remove, writes, with(deregister_volume)}}}});
  routes.exact("/v1/plugins", {{Methods::get, Capability::plugin_list, list_csi_plugins}});
  routes.below("/v1/plugin/csi/", {{"", {{Methods::get, Capability::plugin_read, read_plugin}}}});
}

}  // namespace nomad::api
