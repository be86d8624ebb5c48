#include "runtime/scheduler/reconcile/name_index.hpp"

#include "test/unit/runtime/scheduler/harness.hpp"

using namespace nomad;
using namespace nomad::test;

TEST_CASE("names: the lowest free ones, then again from the start") {
  CHECK(alloc_name("web", "api", 3) == "web.api[3]");
  CHECK(alloc_index("web.api[12]") == 12);
  CHECK(alloc_index("web.a[1]b[7]") == 7);
  CHECK(alloc_index("nonsense") == 0);
  NameIndex names{"j", "g", 4, {"j.g[1]", "j.g[2]"}};
  CHECK(names.next(3) == std::vector<std::string>{"j.g[0]", "j.g[3]", "j.g[0]"});
  NameIndex more{"j", "g", 2, {"j.g[0]", "j.g[0]", "j.g[5]"}};
  CHECK(more.is_duplicate(0));
  CHECK_FALSE(more.is_duplicate(5));
  CHECK(more.take_highest(2) == std::set<std::string>{"j.g[0]", "j.g[5]"});
  NameIndex again{"j", "g", 2, {"j.g[0]", "j.g[0]"}};
  again.release(0);
  CHECK_FALSE(again.is_duplicate(0));
  CHECK(again.next(1) == std::vector<std::string>{"j.g[1]"});
}

TEST_CASE("names of canaries are those of what they will replace") {
  NameIndex names{"j", "g", 3, {"j.g[0]", "j.g[1]", "j.g[2]"}};
  CHECK(names.next_canaries(2, {"j.g[0]"}, {"j.g[0]", "j.g[1]", "j.g[2]"})
        == std::vector<std::string>{"j.g[1]", "j.g[2]"});
  NameIndex full{"j", "g", 1, {"j.g[0]"}};
  CHECK(full.next_canaries(2, {"j.g[0]"}, {"j.g[0]"})
        == std::vector<std::string>{"j.g[1]", "j.g[2]"});
}

TEST_CASE("names: an index stands in the last brackets, and nowhere else") {
  CHECK(alloc_index("7]") == 0);
  CHECK(alloc_index("web[5") == 0);
  CHECK(alloc_index("]5[7") == 0);
}

TEST_CASE("names: no more than asked for, and all again when none is free") {
  NameIndex free{"j", "g", 3, {}};
  CHECK(free.next(1) == std::vector<std::string>{"j.g[0]"});
  NameIndex full{"j", "g", 2, {"j.g[0]", "j.g[1]"}};
  CHECK(full.next(2) == std::vector<std::string>{"j.g[0]", "j.g[1]"});
}

TEST_CASE("names: a free one is below the count, or there is none") {
  NameIndex names{"j", "g", 3, {"j.g[0]", "j.g[2]", "j.g[7]"}};
  CHECK(names.next_free() == "j.g[1]");
  CHECK_FALSE(names.next_free());
  NameIndex none{"j", "g", 1, {}};
  CHECK(none.next_free() == "j.g[0]");
  CHECK_FALSE(none.next_free());
}

TEST_CASE("names of canaries: as many as asked for, free ones before those beyond the count") {
  NameIndex names{"j", "g", 3, {"j.g[0]", "j.g[1]", "j.g[2]"}};
  CHECK(names.next_canaries(1, {}, {"j.g[0]", "j.g[1]"}) == std::vector<std::string>{"j.g[0]"});
  NameIndex some{"j", "g", 4, {"j.g[1]"}};
  CHECK(some.next_canaries(2, {}, {}) == std::vector<std::string>{"j.g[0]", "j.g[2]"});
  NameIndex one{"j", "g", 2, {"j.g[0]"}};
  CHECK(one.next_canaries(2, {}, {}) == std::vector<std::string>{"j.g[1]", "j.g[2]"});
  NameIndex beyond{"j", "g", 1, {"j.g[1]"}};
  CHECK(beyond.next_canaries(1, {}, {"j.g[1]"}) == std::vector<std::string>{"j.g[0]"});
}
