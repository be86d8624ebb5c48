// AdmissionCache: policies of admission that were read, by their texts. Within a bound; what was
// used longest ago goes first. Thread-safe; nothing is read under the lock. Tests: admission_test.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "runtime/access/policy/rights_cache.hpp"
#include "runtime/cluster/admission/admission_rules.hpp"

namespace nomad::api {

class AdmissionCache {
public:
  Result<cluster::AdmissionRulesRef> read(std::string_view text) {
    {
      const std::lock_guard lock{guard_};
      if (const auto* const known = rules_.find(text)) return *known;
    }
    auto read = NOMAD_TRY(cluster::AdmissionRules::read(std::string{text}));
    const std::lock_guard lock{guard_};
    rules_.keep(read->text(), read, text.size() + own_size);
    return read;
  }

private:
  static constexpr std::size_t most_bytes = std::size_t{16} << 20U;
  static constexpr std::size_t own_size = 1'024;  ///< Of one, besides its text.

  std::mutex guard_;
  access::Recent<std::string_view, cluster::AdmissionRulesRef> rules_{most_bytes};
};

/// As decisions ask it; without one they read each time.
inline cluster::ReadAdmission reading(std::shared_ptr<AdmissionCache> cache) {
  if (!cache) return {};
  return [cache = std::move(cache)](std::string_view text) { return cache->read(text); };
}

}  // namespace nomad::api
