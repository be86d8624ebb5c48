// JudgementRecord: what was judged on behalf of one request, for the audit log: which capability,
// of what, and how it ended. A principal that carries one (Principal::seen_by) has each of his
// judgements noted, wherever in this process he is judged. It decides nothing.
//
// Of many judgements, as for a list, the first that allowed and the last that refused are kept.
// Thread-safe.
#pragma once

#include <mutex>
#include <optional>
#include <string>

#include "runtime/access/capability.hpp"
#include "runtime/access/rights.hpp"

namespace nomad::access {

class JudgementRecord {
public:
  struct Judgement {
    Capability capability = Capability::none;
    std::string ns{};
    std::string path{};
    std::string node_pool{};
    std::string node{};
    std::string host_volume{};
    std::string plugin{};

    /// Valid as long as this.
    Target target() const { return {ns, path, node_pool, node, host_volume, plugin}; }
  };

  void note(Capability needed, const Target& target, bool is_allowed);

  std::optional<Judgement> first_allowed() const;
  std::optional<Judgement> last_refused() const;

private:
  mutable std::mutex guard_;
  std::optional<Judgement> allowed_;
  std::optional<Judgement> refused_;
};

}  // namespace nomad::access
