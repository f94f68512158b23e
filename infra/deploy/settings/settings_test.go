package settings

import "testing"

// TestTheRegionIsChosenAsByAWSClients: REGION wins over AWS_REGION, and AWS_REGION over AWS_DEFAULT_REGION.
func TestTheRegionIsChosenAsByAWSClients(t *testing.T) {
	t.Parallel()
	given := map[string]string{}
	for _, next := range [][2]string{{"AWS_DEFAULT_REGION", "eu-north-1"}, {"AWS_REGION", "eu-west-1"}, {"REGION", "eu-central-1"}} {
		given[next[0]] = next[1]
		s, err := Read(func(name string) (string, bool) { v, ok := given[name]; return v, ok })
		if err != nil || s.Region != next[1] {
			t.Errorf("%v: %s, %v", given, s.Region, err)
		}
	}
}
