package guard_test

import _ "time/tzdata" // a machine may have no zones
