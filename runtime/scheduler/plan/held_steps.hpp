// HeldSteps: steps of one worker that found no room while plans were under way. Each waits for
// those plans, and for the held ones among them. If all of these are written as they are, the step
// is right; if not, it is to be decided anew, and so is every step that counted on it.
//
// Invariant: nobody waits for somebody who waits for him, or two would make each other decide anew
// for ever. A step waits for what was reserved when it was decided, and before one is decided anew
// those that wait for it are taken out (`take_dependents`), with what they have reserved.
//
// May depend on: nothing but the standard library. Not thread-safe; a scheduler worker owns one.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace nomad::scheduler {

class HeldSteps {
public:
  /// The step of the delivery `token` waits for the plans of `others`, which are not empty.
  void hold(const std::string& token, std::set<std::string> others);

  /// The plan of `token` is over, and was written in full or not.
  void settle(const std::string& token, bool is_full);

  struct Ready {
    std::string token;
    bool holds_true = false;  ///< The step is right.
  };

  /// One that waits for nothing more; it is forgotten.
  std::optional<Ready> take_ready();

  /// Those that wait for the plan of `token`; they are forgotten.
  std::vector<std::string> take_dependents(const std::string& token);

  /// It does not wait any more.
  void erase(const std::string& token) { held_.erase(token); }

private:
  struct Held {
    std::set<std::string> others;
    bool holds_true = true;
  };

  std::map<std::string, Held> held_;
};

}  // namespace nomad::scheduler
