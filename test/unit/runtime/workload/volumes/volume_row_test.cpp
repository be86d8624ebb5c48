#include "runtime/workload/volumes/volume_row.hpp"

#include <doctest/doctest.h>

using namespace nomad;
using namespace nomad::workload;

TEST_CASE("volume_row: reads what it writes, and nothing else") {
  const VolumeRow row{.spec = {.alloc = "a",
                               .ns = "n",
                               .volume = "v[1]",
                               .usage = "rw",
                               .mode = 1,
                               .access_mode = 2,
                               .attachment_mode = 2},
                      .phase = VolumeRow::Phase::leaving,
                      .plugin = "p",
                      .external = "e",
                      .directory = "/x",
                      .stages = true,
                      .touched = true};

  CHECK(read_row(write_row(row)).value() == row);
  for (const std::string& bytes : {std::string{}, std::string{"1"}, std::string(10'000, '\0'),
                                   "2" + write_row(row).substr(1), write_row(row) + '\0'})
    CHECK(read_row(bytes).error().what == "it is no row of a volume");
}

TEST_CASE("volume_row: names of directories lead nowhere else, and differ") {
  CHECK(file_name_of("default", "data-1.x[2]") == "data-1.x[2]");
  CHECK(file_name_of("", "../../etc") == "%2e.%2f..%2fetc");
  CHECK(file_name_of("default", ".hidden") == "%2ehidden");
  CHECK(file_name_of("team", "data") == "@team@data");
  CHECK(file_name_of("default", "@team@data") == "%40team%40data");
  const std::string long_name(10'000, 'a');
  CHECK(file_name_of("default", long_name).size() <= 200);
  CHECK(file_name_of("default", long_name) != file_name_of("default", long_name + 'a'));
}
