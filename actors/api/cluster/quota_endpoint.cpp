// /v1/quotas, /v1/quota/<name>, and what is in use of them: /v1/quota-usages,
// …/quota/usage/<name>.
#include <algorithm>

#include "actors/api/cluster/kind_endpoint.hpp"
#include "runtime/base/base64.hpp"
#include "runtime/cluster/setting_commands.hpp"

namespace nomad::api {
namespace {

using state::Table;

struct QuotaApi {
  using Kind = state::kind::Quotas;
  static constexpr std::string_view list_path = "/v1/quotas";
  static constexpr std::string_view create_path = "/v1/quota";
  static constexpr std::string_view path = "/v1/quota/";
  static constexpr std::string_view noun = "quota";
  static constexpr std::string_view title = "Quota";
  static constexpr std::string_view nameless = "Missing quota name";
  static constexpr auto read = Capability::quota_read;
  static constexpr auto write = Capability::quota_write;
  static constexpr auto remove = Capability::quota_write;
  static constexpr auto decide_put = cluster::decide_quota;
};

/// Of the last change of what uses are made of.
std::uint64_t usage_index(const View& snapshot) {
  std::uint64_t index = 1;
  for (const auto table : {Table::quotas, Table::namespaces, Table::allocs, Table::variables})
    index = std::max(index, snapshot.index(table));
  return index;
}

constexpr std::int64_t mebibyte = std::int64_t{1} << 20;

std::string_view text_of(capnp::Data::Reader bytes) {
  return {reinterpret_cast<const char*>(bytes.begin()), bytes.size()};
}

/// Devices are told under the names by which the quota limits them.
void fill_used(schema::QuotaLimit::Builder used,
               schema::QuotaLimit::Reader limit,
               const state::QuotaUse& use,
               std::int64_t variable_bytes) {
  used.setRegion(limit.getRegion());
  used.setHash(limit.getHash());
  used.setVariablesLimit((variable_bytes + mebibyte - 1) / mebibyte);
  auto resources = used.initRegionLimit();
  resources.setCpu(use.demand.cpu_mhz);
  resources.setMemoryMb(use.demand.memory_mb);
  resources.setMemoryMaxMb(use.demand.memory_max_mb);
  resources.setCores(use.cores);
  resources.setAllocations(use.allocations);
  const auto limited = limit.getRegionLimit().getDevices();
  auto devices = resources.initDevices(limited.size());
  for (unsigned i = 0; i < limited.size(); ++i) {
    devices[i].setName(limited[i].getName());
    devices[i].setCount(state::devices_in_use(view(limited[i].getName()), use));
  }
}

/// What is in use of the limit of `region`, this one; others count their own.
std::string usage_json(const View& snapshot,
                       schema::QuotaSpec::Reader quota,
                       std::string_view region) {
  Draft<schema::QuotaUsage> draft;
  draft->setName(quota.getName());
  draft->setCreateIndex(quota.getCreateIndex());
  draft->setModifyIndex(usage_index(snapshot));
  if (const auto limit = state::limit_in(quota, region)) {
    auto used = draft->initUsed(1)[0];
    used.setKey(encode_base64(text_of(limit->getHash())));
    fill_used(used.initValue(), *limit, snapshot.quota_use(quota),
              snapshot.quota_variable_bytes(quota));
  }
  return to_json(*draft.freeze());
}

Outcome list_usages(Call& call) {
  return read_state(
      call, [region = call.context->region](const ReadOptions& options) -> Result<Read> {
        return Read{.watch = {state::watch_prefix(Table::quota_use, options.prefix)},
                    .index = usage_index,
                    .answer = [options, region](const View& snapshot) {
                      return list_by_key(
                          snapshot, &state::Snapshot::rows<state::kind::Quotas>, options, keep_all,
                          [&](std::string& out, const Object<schema::QuotaSpec>& quota) {
                            out += usage_json(snapshot, *quota, region);
                          });
                    }};
      });
}

Outcome read_usage(Call& call) {
  if (call.rest.empty()) return bad_request(std::string{QuotaApi::nameless});
  return read_state(call, [key = call.rest, region = call.context->region](const ReadOptions&) {
    auto read = read_row<Table::quotas>(
        key, std::string{QuotaApi::noun},
        [key](const View& snapshot) { return snapshot.row<state::kind::Quotas>(key); },
        [region](const View& snapshot, const auto& quota) {
          return Answer::json(usage_json(snapshot, *quota, region));
        });
    read.watch.push_back(state::watch_key(Table::quota_use, key));
    read.index = [key](const View& snapshot) {
      return snapshot.row<state::kind::Quotas>(key) ? usage_index(snapshot) : at_once;
    };
    return Result<Read>{std::move(read)};
  });
}

}  // namespace

void add_quota_routes(Routes& routes) {
  add_kind<QuotaApi>(routes);
  routes.exact("/v1/quota-usages", {{Methods::get, Capability::quota_read, list_usages}});
  routes.below("/v1/quota/usage/", {{"", {{Methods::get, Capability::quota_read, read_usage}}}});
}

}  // namespace nomad::api
