package parameters

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Parameter is a parameter that a template declares.
type Parameter struct {
	Type                  string   `yaml:"Type"`
	Default               *string  `yaml:"Default"`
	AllowedPattern        string   `yaml:"AllowedPattern"`
	AllowedValues         []string `yaml:"AllowedValues"`
	MinValue              *float64 `yaml:"MinValue"`
	MaxValue              *float64 `yaml:"MaxValue"`
	MinLength             *int     `yaml:"MinLength"` // in characters, of a String
	MaxLength             *int     `yaml:"MaxLength"`
	ConstraintDescription string   `yaml:"ConstraintDescription"` // describes the pattern in words
	NoEcho                bool     `yaml:"NoEcho"`
}

// Accepts returns an error when CloudFormation refuses a value. The error describes the accepted values. It never has the value, which
// may be a secret. Each element of a list is checked by itself, without the spaces around it. A pattern must match the whole value.
// CloudFormation's patterns are Java's, so a pattern that Go cannot compile is not checked.
func (p Parameter) Accepts(value string) error {
	if p.Type == "String" {
		length := utf8.RuneCountInString(value)
		if p.MinLength != nil && length < *p.MinLength {
			return fmt.Errorf("it has %d characters: %d are the least", length, *p.MinLength)
		}
		if p.MaxLength != nil && length > *p.MaxLength {
			return fmt.Errorf("it has %d characters: %d are the most", length, *p.MaxLength)
		}
	}
	values := []string{value}
	if p.Type == "CommaDelimitedList" {
		values = strings.Split(value, ",")
	}
	pattern, err := regexp.Compile(`^(?:` + p.AllowedPattern + `)$`)
	for _, v := range values {
		if p.Type == "CommaDelimitedList" {
			v = strings.TrimSpace(v)
		}
		switch {
		case len(p.AllowedValues) > 0 && !slices.Contains(p.AllowedValues, v):
			return fmt.Errorf("it must be one of %s", strings.Join(p.AllowedValues, ", "))
		case p.AllowedPattern != "" && err == nil && !pattern.MatchString(v):
			return errors.New(cmp.Or(p.ConstraintDescription, "it must match "+p.AllowedPattern))
		}
	}
	if p.Type != "Number" {
		return nil
	}
	number, err := strconv.ParseFloat(value, 64)
	switch {
	case err != nil || strings.ContainsAny(value, "xXnN"): // Go also accepts hexadecimal numbers, NaN and Inf
		return errors.New("it must be a number")
	case p.MinValue != nil && number < *p.MinValue:
		return errors.New(strconv.FormatFloat(*p.MinValue, 'f', -1, 64) + " is the least")
	case p.MaxValue != nil && number > *p.MaxValue:
		return errors.New(strconv.FormatFloat(*p.MaxValue, 'f', -1, 64) + " is the most")
	}
	return nil
}
