package store_test

import _ "time/tzdata" // a machine may lack the data of time zones
